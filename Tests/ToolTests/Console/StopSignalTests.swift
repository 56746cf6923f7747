import HostedConcurrency
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// When a signal ends the process, and when it is a request to stop.
@Suite("Stop signals", .timeLimit(.hang))
struct StopSignalTests {
  @Test("A signal before a server waits for it ends the wait, not the process")
  func held() async {
    let isEnded = Mutex(false)
    let signals = StopSignals { _ in isEnded.withLock { $0 = true } }
    signals.hold()
    signals.stop()
    await signals.waitForFirst()
    let hasEnded = isEnded.withLock { $0 }
    #expect(!hasEnded)
  }

  @Test("Without a handler, a signal ends the process")
  func unhandled() {
    let isEnded = Mutex(false)
    let signals = StopSignals { _ in isEnded.withLock { $0 = true } }
    signals.stop()
    let hasEnded = isEnded.withLock { $0 }
    #expect(hasEnded && signals.hasArrived)
  }
}
