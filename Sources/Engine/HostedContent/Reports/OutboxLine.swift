import Dispatch
import Concurrency

/// An outbox that is emptied on a line, each notification in its time.
final class OutboxLine: Sendable {
  private let target: any SerialLine
  private let now: @Sendable () -> DispatchTime
  private let state = Mutex(State())

  private struct State {
    /// What waits for the line, in its order.
    var outbox = Outbox()
    /// When the line will look into it; nil when nobody has asked it to.
    var expected: DispatchTime?
    /// When changes of downloads may be told.
    var pace = CallPace()

    /// When somebody is still to be asked to look into the outbox.
    mutating func expect() -> DispatchTime? {
      guard let time = outbox.nextDue, expected.map({ time < $0 }) ?? true else { return nil }
      expected = time
      return time
    }
  }

  /// `now` is the time that `target` goes by.
  init(on target: any SerialLine, now: @escaping @Sendable () -> DispatchTime) {
    self.target = target
    self.now = now
  }

  /// Puts a notification into the outbox and sees to it that `tell` gets it on the line in time;
  /// changes may have to wait for theirs.
  func send(
    _ notification: Outbox.Notification, of ids: some Collection<String>,
    tell: @escaping @Sendable (Outbox.Notification) -> Void
  ) {
    let time: DispatchTime? = state.withLock { state in
      let now = now()
      state.outbox.put(
        notification, of: ids, due: notification.isChanges ? state.pace.next(at: now) : now)
      return state.expect()
    }
    look(at: time, tell)
  }

  private func look(
    at time: DispatchTime?, _ tell: @escaping @Sendable (Outbox.Notification) -> Void
  ) {
    guard let time else { return }
    if time <= now() {
      target.enqueue { self.empty(tell) }
    } else {
      target.enqueue(at: time) { self.empty(tell) }
    }
  }

  /// Tells what is due; on the line.
  private func empty(_ tell: @escaping @Sendable (Outbox.Notification) -> Void) {
    let (notifications, time) = state.withLock { state in
      let now = now()
      let notifications = state.outbox.take(at: now)
      if notifications.contains(where: \.isChanges) { state.pace.note(at: now) }
      state.expected = nil
      return (notifications, state.expect())
    }
    look(at: time, tell)
    notifications.forEach(tell)
  }
}
