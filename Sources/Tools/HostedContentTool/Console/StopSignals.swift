import ContentModel
import Dispatch
import FileIO
import Glibc
import Concurrency

/// Turns SIGINT and SIGTERM into a clean stop.
///
/// Without a handler, `fallback` is called. Further signals are ignored, because `timeout` and some
/// shells send each signal twice.
// Sendable, because the sources are only set in the initializer.
final class StopSignals: @unchecked Sendable {
  private let state = Mutex(State())
  private let fallback: @Sendable (ContentError) -> Void
  private var sources: [any DispatchSourceSignal] = []
  // Its own queue, because all threads of the global queues may be busy with downloads.
  private let queue = DispatchQueue(label: "hostedcontent.signals")

  private struct State {
    var handler: (@Sendable (ContentError) -> Void)?
    var hasCome = false
  }

  init(fallback: @escaping @Sendable (ContentError) -> Void) {
    self.fallback = fallback
    for number in [SIGINT, SIGTERM] {
      // The default action would end the process before the source is called.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [weak self] in self?.stop() }
      source.resume()
      sources.append(source)
    }
  }

  deinit { sources.forEach { $0.cancel() } }

  /// Whether a signal was received.
  var hasCome: Bool { state.withLock { $0.hasCome } }

  /// The handler for signals.
  ///
  /// It is also called for a signal that came before it was set.
  var onSignal: (@Sendable (ContentError) -> Void)? {
    get { state.withLock { $0.handler } }
    set {
      let hasCome = state.withLock { state in
        state.handler = newValue
        return state.hasCome
      }
      if hasCome { newValue?(Self.interrupted) }
    }
  }

  /// Calls `body` once, also for a signal that came before.
  func onFirstSignal(_ body: @escaping @Sendable () -> Void) {
    let hasCalled = Atomic(false)
    onSignal = { _ in if !hasCalled.exchange(true, ordering: .relaxed) { body() } }
  }

  /// Prevents signals from ending the process.
  ///
  /// The returned function throws after a signal.
  func checkpoint() -> @Sendable () throws -> Void {
    onSignal = { _ in }
    return { [self] in if hasCome { throw Self.interrupted } }
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

  private func stop() {
    let handler = state.withLock { state in
      state.hasCome = true
      return state.handler
    }
    (handler ?? fallback)(Self.interrupted)
  }
}
