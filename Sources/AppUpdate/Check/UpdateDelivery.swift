import Dispatch
import HostedConcurrency

/// Delivers events to observers and streams in order, on a queue of the caller's choice.
final class UpdateDelivery: Sendable {
  /// The maximum number of events that wait for a first observer.
  ///
  /// Older ones are dropped.
  private static let backlogLimit = 32

  private let queue: DispatchQueue
  private let observers = ObserverList<any AppUpdateObserver>()
  private let streams = OpenStreams<AppUpdateEvent>()
  /// Events from before the first observer, such as a damaged state; nil after it was added.
  private let backlog: Mutex<[AppUpdateEvent]?>

  /// Creates a private serial queue with `target`; `early` events wait for the first observer.
  init(on target: DispatchQueue?, _ early: [AppUpdateEvent]) {
    backlog = Mutex(early)
    queue = DispatchQueue(label: "hostedcontent.app-update", target: target)
  }

  deinit { streams.finish() }

  // Only work on `queue` keeps an event for the first observer or stream, takes the waiting events,
  // and delivers. So all events stay in order.

  func add(_ observer: any AppUpdateObserver, of checker: AppUpdateChecker) {
    guard observers.add(observer) else { return }
    queue.async { [self, weak observer] in
      // An observer that was removed or released leaves the events to the next one.
      guard let observer, observers.contains(observer) else { return }
      for event in takeBacklog() where observers.contains(observer) {
        observer.take(event, of: checker)
      }
    }
  }

  func remove(_ observer: any AppUpdateObserver) { observers.remove(observer) }

  /// Returns a stream of the waiting events and all later events.
  func stream() -> AsyncStream<AppUpdateEvent> {
    AsyncStream { continuation in
      let hasEnded = Atomic(false)
      streams.add(continuation) { hasEnded.store(true, ordering: .releasing) }
      queue.async { [self] in
        // A stream that ended at once leaves the events to the next observer or stream.
        guard !hasEnded.load(ordering: .acquiring) else { return }
        for event in takeBacklog() { continuation.yield(event) }
      }
    }
  }

  /// Delivers an event to all observers, or keeps it for the first one; returns before that.
  func deliver(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    queue.async { [self] in
      let isKept = backlog.withLock { backlog in
        guard let count = backlog?.count else { return false }
        if count >= Self.backlogLimit { backlog?.removeFirst() }
        backlog?.append(event)
        return true
      }
      guard !isKept else { return }
      streams.yield(event)
      observers.forEach { $0.take(event, of: checker) }
    }
  }

  /// Returns the waiting events; later events are not kept.
  private func takeBacklog() -> [AppUpdateEvent] {
    backlog.withLock { backlog in
      defer { backlog = nil }
      return backlog ?? []
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
