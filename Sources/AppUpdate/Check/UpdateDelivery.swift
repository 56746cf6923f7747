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
  private let state = Serialized(State())

  private struct State {
    var streams: [Int: AsyncStream<AppUpdateEvent>.Continuation] = [:]
    var nextStream = 0
    /// Events from before the first observer, such as a damaged state.
    var backlog: [AppUpdateEvent]? = []

    /// Keeps an event for the first observer; returns false if there is or was one.
    mutating func keep(_ event: AppUpdateEvent) -> Bool {
      guard let count = backlog?.count else { return false }
      if count >= backlogLimit { backlog?.removeFirst() }
      backlog?.append(event)
      return true
    }

    /// Returns the waiting events; later events are not kept.
    mutating func takeBacklog() -> [AppUpdateEvent] {
      defer { backlog = nil }
      return backlog ?? []
    }
  }

  /// Creates a private serial queue with `target`.
  init(on target: DispatchQueue?) {
    queue = DispatchQueue(label: "hostedcontent.app-update", target: target)
  }

  deinit { state.use { Array($0.streams.values) }.forEach { $0.finish() } }

  // Work is enqueued while the state is in use, so that it has the order of the events. It runs
  // later.

  func add(_ observer: any AppUpdateObserver, of checker: AppUpdateChecker) {
    guard observers.add(observer) else { return }
    state.use { state in
      for event in state.takeBacklog() {
        queue.async { [weak observer] in observer?.take(event, of: checker) }
      }
    }
  }

  func remove(_ observer: any AppUpdateObserver) { observers.remove(observer) }

  /// Returns a stream of the waiting events and all later events.
  func stream() -> AsyncStream<AppUpdateEvent> {
    AsyncStream { continuation in
      let number = state.use { state in
        defer { state.nextStream += 1 }
        state.streams[state.nextStream] = continuation
        for event in state.takeBacklog() { queue.async { continuation.yield(event) } }
        return state.nextStream
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.use { _ = $0.streams.removeValue(forKey: number) }
      }
    }
  }

  /// Keeps an event from before the checker exists.
  func keep(_ event: AppUpdateEvent) { state.use { _ = $0.keep(event) } }

  /// Delivers an event to all observers; returns before they are called.
  func deliver(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    state.use { state in
      guard !state.keep(event) else { return }
      queue.async { [self] in notify(event, of: checker) }
    }
  }

  private func notify(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    for stream in state.use({ Array($0.streams.values) }) { stream.yield(event) }
    observers.forEach { $0.take(event, of: checker) }
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
