import Concurrency

/// Listeners for the seller's report that content was published; may be used from any thread.
final class PublicationListeners: Sendable {
  /// A listener, called outside the lock.
  struct Listener: Sendable {
    /// Called for each report; returns false if the listener can be removed.
    let notify: @Sendable () -> Bool
    /// Called once when the queue is closed.
    let finish: @Sendable () -> Void
  }

  /// Nil once the queue is closed.
  private let listeners = Mutex<[Listener]?>([])

  /// Adds a listener; finishes it at once if the queue is closed.
  func add(_ listener: Listener) {
    let isOpen = listeners.withLock { listeners in
      listeners?.append(listener)
      return listeners != nil
    }
    if !isOpen { listener.finish() }
  }

  /// Notifies all listeners, and removes those that return false.
  func notify() {
    let notified = listeners.withLock { listeners in
      defer { if listeners != nil { listeners = [] } }
      return listeners ?? []
    }
    let left = notified.filter { $0.notify() }
    let isOpen = listeners.withLock { listeners in
      listeners?.append(contentsOf: left)
      return listeners != nil
    }
    if !isOpen { left.forEach { $0.finish() } }
  }

  /// Finishes all listeners, and every listener that is added later.
  func finish() {
    let finished = listeners.withLock { listeners in
      defer { listeners = nil }
      return listeners ?? []
    }
    finished.forEach { $0.finish() }
  }
}
