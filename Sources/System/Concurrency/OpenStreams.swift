/// Streams that get the same elements until they end.
///
/// May be used from any thread. Elements are sent outside the lock.
package final class OpenStreams<Element: Sendable>: Sendable {
  package typealias Sender = AsyncStream<Element>.Continuation

  private let state = Mutex(State())

  private struct State {
    var senders: Set<Sender> = []
    var isClosed = false
  }

  package init() {}

  /// Adds a stream until it ends, which calls `onEnd`; returns false if this is closed.
  ///
  /// Then the stream ends at once.
  @discardableResult
  package func add(_ sender: Sender, onEnd: @escaping @Sendable () -> Void = {}) -> Bool {
    sender.onTermination = { [weak self] _ in
      onEnd()
      self?.remove(sender)
    }
    let isOpen = state.withLock { state in
      if !state.isClosed { state.senders.insert(sender) }
      return !state.isClosed
    }
    if !isOpen { sender.finish() }
    return isOpen
  }

  private func remove(_ sender: Sender) {
    // Released outside the lock.
    _ = state.withLock { $0.senders.remove(sender) }
  }

  package var isEmpty: Bool { state.withLock { $0.senders.isEmpty } }

  package func yield(_ element: Element) {
    for sender in state.withLock({ $0.senders }) {
      // A stream that ended before it was added does not call `onTermination`.
      if case .terminated = sender.yield(element) { remove(sender) }
    }
  }

  /// Refuses further streams.
  package func close() { state.withLock { $0.isClosed = true } }

  /// Ends all streams, and refuses further ones.
  package func finish() {
    let senders = state.withLock { state in
      state.isClosed = true
      defer { state.senders = [] }
      return state.senders
    }
    for sender in senders { sender.finish() }
  }
}
