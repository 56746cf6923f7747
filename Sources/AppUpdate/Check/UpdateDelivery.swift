import Dispatch
import Concurrency

/// Delivers events to observers and streams in order, on a queue of the caller's choice.
final class UpdateDelivery: Sendable {
  /// The maximum number of events that wait for a first observer.
  ///
  /// Older ones are dropped.
  private static let backlogLimit = 32

  private let queue: DispatchQueue
  private let observers = ObserverList<any AppUpdateObserver>()
  private let state: Mutex<State>

  private struct State {
    var streams: [String: AsyncStream<AppUpdateEvent>.Continuation] = [:]
    /// Events from before the first observer, such as a damaged state; nil after it was added.
    var backlog: [AppUpdateEvent]?
  }

  /// Creates a private serial queue with `target`; `early` events wait for the first observer.
  init(on target: DispatchQueue?, _ early: [AppUpdateEvent]) {
    state = Mutex(State(backlog: early))
    queue = DispatchQueue(label: "hostedcontent.app-update", target: target)
  }

  deinit { state.withLock { Array($0.streams.values) }.forEach { $0.finish() } }

  // Only work on `queue` keeps an event for the first observer or stream, takes the waiting events,
  // and delivers. So all events stay in order.

  func add(_ observer: any AppUpdateObserver, of checker: AppUpdateChecker) {
    guard observers.add(observer) else { return }
    queue.async { [self, weak observer] in
      for event in takeBacklog() { observer?.take(event, of: checker) }
    }
  }

  func remove(_ observer: any AppUpdateObserver) { observers.remove(observer) }

  /// Returns a stream of the waiting events and all later events.
  func stream() -> AsyncStream<AppUpdateEvent> {
    AsyncStream { continuation in
      let id = randomIdentifier()
      state.withLock { $0.streams[id] = continuation }
      queue.async { [self] in for event in takeBacklog() { continuation.yield(event) } }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.streams.removeValue(forKey: id) }
      }
    }
  }

  /// Delivers an event to all observers, or keeps it for the first one; returns before that.
  func deliver(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    queue.async { [self] in
      let streams: [AsyncStream<AppUpdateEvent>.Continuation]? = state.withLock { state in
        guard let count = state.backlog?.count else { return Array(state.streams.values) }
        if count >= Self.backlogLimit { state.backlog?.removeFirst() }
        state.backlog?.append(event)
        return nil
      }
      guard let streams else { return }
      for stream in streams { stream.yield(event) }
      observers.forEach { $0.take(event, of: checker) }
    }
  }

  /// Returns the waiting events; later events are not kept.
  private func takeBacklog() -> [AppUpdateEvent] {
    state.withLock { state in
      defer { state.backlog = nil }
      return state.backlog ?? []
    }
  }
}

extension AppUpdateObserver {
  fileprivate func take(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    switch event {
    case .prompt(let prompt): appUpdateChecker(checker, shouldPresent: prompt)
    case .decided(let decision): appUpdateChecker(checker, didDecide: decision)
    case .gateClosed(let decision): appUpdateChecker(checker, didCloseGate: decision)
    case .gateOpened: appUpdateCheckerDidOpenGate(checker)
    case .failed(let error): appUpdateChecker(checker, didFailWith: error)
    }
  }
}
