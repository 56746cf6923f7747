import Dispatch
import Synchronization

/// Tells observers and streams what happened, in order, on a queue of the caller's choice.
final class UpdateDelivery: Sendable {
  /// Events that wait for a first observer; the oldest go first when there are more.
  private static let backlogLimit = 32

  private let queue: DispatchQueue
  private let state = Mutex(State())

  private struct State {
    var observers: [WeakObserver] = []
    var streams: [Int: AsyncStream<AppUpdateEvent>.Continuation] = [:]
    var nextStream = 0
    /// What happened before anybody observed, such as a memory that could not be read.
    var backlog: [AppUpdateEvent]? = []

    mutating func keep(_ event: AppUpdateEvent) {
      backlog?.append(event)
      if let count = backlog?.count, count > backlogLimit {
        backlog?.removeFirst(count - backlogLimit)
      }
    }
  }

  private struct WeakObserver {
    weak var observer: (any AppUpdateObserver)?
  }

  /// Delivers on a serial queue of its own whose work `target` does.
  init(on target: DispatchQueue?) {
    queue = DispatchQueue(label: "hostedcontent.app-update", target: target)
  }

  deinit { state.withLock { Array($0.streams.values) }.forEach { $0.finish() } }

  func add(_ observer: any AppUpdateObserver, of checker: AppUpdateChecker) {
    let backlog = state.withLock { state -> [AppUpdateEvent] in
      state.observers.removeAll { $0.observer == nil }
      guard !state.observers.contains(where: { $0.observer === observer }) else { return [] }
      state.observers.append(WeakObserver(observer: observer))
      defer { state.backlog = nil }
      return state.backlog ?? []
    }
    for event in backlog {
      queue.async { [weak observer] in observer?.take(event, of: checker) }
    }
  }

  func remove(_ observer: any AppUpdateObserver) {
    state.withLock { state in
      state.observers.removeAll { $0.observer == nil || $0.observer === observer }
    }
  }

  /// A stream of what happens from now on, and of what waited for a first observer.
  func stream() -> AsyncStream<AppUpdateEvent> {
    AsyncStream { continuation in
      let (number, backlog) = state.withLock { state in
        defer {
          state.nextStream += 1
          state.backlog = nil
        }
        state.streams[state.nextStream] = continuation
        return (state.nextStream, state.backlog ?? [])
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
      }
      for event in backlog { continuation.yield(event) }
    }
  }

  /// Tells everybody; returns before they have heard it.
  func deliver(_ event: AppUpdateEvent, of checker: AppUpdateChecker?) {
    let streams = state.withLock { state in
      state.keep(event)
      return Array(state.streams.values)
    }
    streams.forEach { $0.yield(event) }
    guard let checker else { return }
    queue.async { [self] in
      // Asked here, so that an observer that was removed in an earlier call hears no more.
      for observer in state.withLock({ $0.observers.compactMap(\.observer) }) {
        observer.take(event, of: checker)
      }
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
