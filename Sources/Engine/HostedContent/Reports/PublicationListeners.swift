import Concurrency

/// Streams that get an element when the seller reports that content was published.
///
/// May be used from any thread. Elements are sent outside the lock.
final class PublicationListeners: Sendable {
  typealias Listener = AsyncStream<Void>.Continuation

  /// Nil once the queue is closed.
  private let listeners = Mutex<[Listener]?>([])

  /// Adds a stream; finishes it at once if the queue is closed.
  func add(_ listener: Listener) {
    let isOpen = listeners.withLock { listeners in
      listeners?.append(listener)
      return listeners != nil
    }
    if !isOpen { listener.finish() }
  }

  /// Notifies all streams, and removes those that have ended.
  func notify() {
    let notified = listeners.withLock { listeners in
      defer { if listeners != nil { listeners = [] } }
      return listeners ?? []
    }
    for listener in notified {
      if case .terminated = listener.yield() { continue }
      add(listener)
    }
  }

  /// Finishes all streams, and every stream that is added later.
  func finish() {
    let finished = listeners.withLock { listeners in
      defer { listeners = nil }
      return listeners ?? []
    }
    finished.forEach { $0.finish() }
  }
}
