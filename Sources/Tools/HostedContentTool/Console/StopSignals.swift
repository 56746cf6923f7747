import HostedModel
import HostedFileIO
import Glibc
import HostedConcurrency

/// Turns SIGINT and SIGTERM into a clean stop.
///
/// Without a handler, `fallback` is called. Further signals are ignored, because `timeout` and some
/// shells send each signal twice.
final class StopSignals: Sendable {
  private let state = Mutex(State())
  private let fallback: @Sendable (ContentError) -> Void

  private struct State {
    var handler: (@Sendable (ContentError) -> Void)?
    var hasArrived = false
  }

  init(fallback: @escaping @Sendable (ContentError) -> Void) { self.fallback = fallback }

  /// Blocks the signals, so that `receive` gets them, in this thread and all that it starts.
  ///
  /// Must be called before other threads exist.
  static func block() {
    var signals = Self.numbers
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Waits for signals, from `block` on, and handles them in this thread.
  func receive() -> Never {
    var signals = Self.numbers
    while true {
      var number: CInt = 0
      if sigwait(&signals, &number) == 0 { stop() }
    }
  }

  private static var numbers: sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGINT, SIGTERM] { sigaddset(&signals, number) }
    return signals
  }

  var hasArrived: Bool { state.withLock { $0.hasArrived } }

  /// Sets the handler for signals, and calls it if one came before.
  func setHandler(_ handler: @escaping @Sendable (ContentError) -> Void) {
    let hasArrived = state.withLock { state in
      state.handler = handler
      return state.hasArrived
    }
    if hasArrived { handler(Self.interrupted) }
  }

  /// Sets what the user can do after a signal; by default, run the command again.
  func setRemedy(_ remedy: String) {
    setHandler { [fallback] error in
      fallback(ContentError(error.code, error.message, remedy: remedy))
    }
  }

  /// Prevents signals from ending the process; `waitForFirst` returns after one.
  ///
  /// A server calls it before it prints its URL: from then on, a signal is a request to stop.
  func hold() { setHandler { _ in } }

  /// Waits for the first signal, also for one that came before.
  func waitForFirst() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let hasResumed = Atomic(false)
      setHandler { _ in
        if !hasResumed.exchange(true, ordering: .relaxed) { continuation.resume() }
      }
    }
  }

  /// Prevents signals from ending the process; the returned function throws after a signal.
  func checkpoint() -> @Sendable () throws -> Void {
    hold()
    return { [self] in if hasArrived { throw Self.interrupted } }
  }

  static let interrupted = ContentError(
    .stopped, "The command was interrupted", remedy: "Run it again to continue")

  /// Prevents signals from ending the process.
  ///
  /// After a signal, the returned file system fails all operations except removals.
  func stoppableFileSystem() -> FileSystem {
    let check = checkpoint()
    return FileSystem { operation, _ in
      if [.read, .write, .create, .createDirectory].contains(operation) { try check() }
    }
  }

  func stop() {
    let handler = state.withLock { state in
      state.hasArrived = true
      return state.handler
    }
    (handler ?? fallback)(Self.interrupted)
  }
}
