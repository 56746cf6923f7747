import Dispatch
import Concurrency

/// Tells observers and streams what happened, in order, on a queue of the caller's choice.
final class UpdateDelivery: Sendable {
  /// Events that wait for a first observer; the oldest go first when there are more.
  private static let backlogLimit = 32

  private let queue: DispatchQueue
  private let observers = ObserverList<any AppUpdateObserver>()
  private let state = Mutex(State())

  private struct State {
    var streams: [Int: AsyncStream<AppUpdateEvent>.Continuation] = [:]
    var nextStream = 0
    /// What happened before anybody observed, such as a memory that could not be read.
    var backlog: [AppUpdateEvent]? = []

    /// Keeps an event for the first observer; false when there is one, or was.
    mutating func keep(_ event: AppUpdateEvent) -> Bool {
      guard let count = backlog?.count else { return false }
      if count >= backlogLimit { backlog?.removeFirst() }
      backlog?.append(event)
      return true
    }

    /// What waited for a first observer; from now on nothing waits.
    mutating func takeBacklog() -> [AppUpdateEvent] {
      defer { backlog = nil }
      return backlog ?? []
    }
  }

  /// Delivers on a serial queue of its own whose work `target` does.
  init(on target: DispatchQueue?) {
    queue = DispatchQueue(label: "hostedcontent.app-update", target: target)
  }

  deinit { state.withLock { Array($0.streams.values) }.forEach { $0.finish() } }

  // Work is put on the queue under the lock, so that its order there is the order of what happened;
  // nothing of it runs there.

  func add(_ observer: any AppUpdateObserver, of checker: AppUpdateChecker) {
    guard observers.add(observer) else { return }
    state.withLock { state in
      for event in state.takeBacklog() {
        queue.async { [weak observer] in observer?.take(event, of: checker) }
      }
    }
  }

  func remove(_ observer: any AppUpdateObserver) { observers.remove(observer) }

  /// A stream of what happens from now on, and of what waited for a first observer.
  func stream() -> AsyncStream<AppUpdateEvent> {
    AsyncStream { continuation in
      let number = state.withLock { state in
        defer { state.nextStream += 1 }
        state.streams[state.nextStream] = continuation
        for event in state.takeBacklog() { queue.async { continuation.yield(event) } }
        return state.nextStream
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
      }
    }
  }

  /// Keeps what happens before there is a checker that observers could be told of.
  func keep(_ event: AppUpdateEvent) { state.withLock { _ = $0.keep(event) } }

  /// Tells everybody; returns before they have heard it.
  func deliver(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    state.withLock { state in
      guard !state.keep(event) else { return }
      queue.async { [self] in tell(event, of: checker) }
    }
  }

  private func tell(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    for stream in state.withLock({ Array($0.streams.values) }) { stream.yield(event) }
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
