import HostedConcurrency
import Dispatch
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Tickers", .timeLimit(.hang))
struct TickerTests {
  @Test("A ticker calls its body again and again until it is stopped, which can be repeated")
  func calls() async throws {
    let calls = Watched(0)
    weak var body: Body?
    let ticker = try {
      let new = Body(calls)
      body = new
      return try Ticker(every: .milliseconds(1)) { new.run() }
    }()
    await calls.wait { $0 >= 3 }
    ticker.stop()
    let count = calls.value
    #expect(body == nil, "what is released cannot be called again")
    ticker.stop()
    #expect(calls.value == count)
  }

  @Test("Each of two calls that stop a ticker at the same time waits for the body")
  func stops() throws {
    let (hasBegun, mayReturn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let ticker = try Ticker(every: .milliseconds(1)) {
      hasBegun.signal()
      mayReturn.wait()
      // For another call of the body, before a thread has stopped the ticker.
      mayReturn.signal()
    }
    hasBegun.wait()
    let stops = (0..<2).map { _ in ThreadCall { ticker.stop() } }
    for stop in stops { #expect(stop.isWaiting()) }
    mayReturn.signal()
    for stop in stops { stop.wait() }
  }

  @Test("The body may stop its ticker, also while another thread waits for the body")
  func stopsItself() throws {
    let (hasBegun, mayStop) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let stopped = Mutex<Ticker?>(nil)
    let ticker = try Ticker(every: .milliseconds(1)) {
      hasBegun.signal()
      mayStop.wait()
      stopped.withLock { $0 }?.stop()
    }
    stopped.withLock { $0 = ticker }
    hasBegun.wait()
    let stop = ThreadCall { ticker.stop() }
    #expect(stop.isWaiting())
    mayStop.signal()
    stop.wait()
    ticker.stop()
    stopped.withLock { $0 = nil }
  }

  private final class Body: Sendable {
    private let calls: Watched<Int>
    init(_ calls: Watched<Int>) { self.calls = calls }
    func run() { calls.change { $0 += 1 } }
  }
}
