import ContentModel
import Dispatch
import FileIO
import Glibc
import Locks

/// SIGINT and SIGTERM as a wish to stop cleanly; a second one changes nothing, since `timeout` and
/// some shells send each signal twice.
// Sendable because the sources are set once, in the initialiser.
final class StopSignals: @unchecked Sendable {
  private let state = Mutex(State())
  private var sources: [any DispatchSourceSignal] = []
  // Of its own, since the threads of the global queues may all be busy with downloads.
  private let queue = DispatchQueue(label: "hostedcontent.signals")

  private struct State {
    var handler: (@Sendable (ContentError) -> Void)?
    var hasCome = false
  }

  init() {
    for number in [SIGINT, SIGTERM] {
      // The default action would end the process before the source is asked.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [weak self] in self?.stop() }
      source.resume()
      sources.append(source)
    }
  }

  deinit { sources.forEach { $0.cancel() } }

  /// Whether a signal has come.
  var hasCome: Bool { state.withLock { $0.hasCome } }

  /// Who is told; also of a signal that came before it was set.
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

  static let interrupted = ContentError(
    .stopped, "The command was interrupted", remedy: "Run it again; what was fetched is kept")

  /// The file system until a signal has come: then nothing more is read or written, only removed.
  var fileSystem: FileSystem {
    FileSystem { [self] operation, path in
      guard [.read, .write, .create, .createDirectory].contains(operation), hasCome else { return }
      throw ContentError(
        .stopped, "The command was interrupted", remedy: "Run it again", subject: path)
    }
  }

  private func stop() {
    let handler = state.withLock { state in
      state.hasCome = true
      return state.handler
    }
    handler?(Self.interrupted)
  }
}
