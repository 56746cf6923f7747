import Dispatch
import HostedConcurrency

/// Delivers the notifications of an outbox on a serial queue when they are due.
final class OutboxLine: Sendable {
  private let target: any SerialLine
  private let now: @Sendable () -> DispatchTime
  private let state = Mutex(State())

  private struct State {
    /// Pending notifications, in order.
    var outbox = Outbox()
    /// The time of the scheduled delivery; nil if nothing is scheduled.
    var expected: DispatchTime?
    /// Limits the rate of calls about downloads.
    var pace = CallPace()

    /// Returns when to schedule a delivery; nil if one is scheduled early enough.
    mutating func expect() -> DispatchTime? {
      guard let time = outbox.nextDue, expected.map({ time < $0 }) ?? true else { return nil }
      expected = time
      return time
    }
  }

  /// `now` returns the time on the clock of `target`.
  init(on target: any SerialLine, now: @escaping @Sendable () -> DispatchTime) {
    self.target = target
    self.now = now
  }

  /// Adds a notification, and calls `notify` with it on the queue when it is due.
  ///
  /// Changes of downloads may be delayed.
  func send(
    _ notification: Outbox.Notification, of ids: some Collection<String>,
    notify: @escaping @Sendable (Outbox.Notification) -> Void
  ) {
    let time: DispatchTime? = state.withLock { state in
      let now = now()
      state.outbox.put(
        notification, of: ids, due: notification.isChanges ? state.pace.next(at: now) : now)
      return state.expect()
    }
    look(at: time, notify)
  }

  private func look(
    at time: DispatchTime?, _ notify: @escaping @Sendable (Outbox.Notification) -> Void
  ) {
    guard let time else { return }
    if time <= now() {
      target.enqueue { self.empty(notify) }
    } else {
      target.enqueue(at: time) { self.empty(notify) }
    }
  }

  /// Delivers what is due; called on the serial queue.
  private func empty(_ notify: @escaping @Sendable (Outbox.Notification) -> Void) {
    let (notifications, time) = state.withLock { state in
      let now = now()
      let notifications = state.outbox.take(at: now)
      if notifications.contains(where: \.isChanges) { state.pace.note(at: now) }
      state.expected = nil
      return (notifications, state.expect())
    }
    look(at: time, notify)
    notifications.forEach(notify)
  }
}
