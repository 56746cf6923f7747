import HostedModel

/// Submitted events, in order.
struct EngineInbox {
  var pendingEvents: ArraySlice<PendingEvent> = []
  /// Whether the serial queue is scheduled to read it.
  var isExpected = false

  /// Removes and returns up to `limit` events.
  ///
  /// The last call also returns the storage of all events, which must be released outside the
  /// inbox's lock.
  mutating func take(_ limit: Int) -> (events: [PendingEvent], storage: ArraySlice<PendingEvent>) {
    let taken = Array(pendingEvents.prefix(limit))
    var storage: ArraySlice<PendingEvent> = []
    if taken.count == pendingEvents.count {
      swap(&storage, &pendingEvents)
    } else {
      pendingEvents = pendingEvents.dropFirst(limit)
    }
    isExpected = !pendingEvents.isEmpty
    return (taken, storage)
  }
}

/// A submitted event that has not been handled.
struct PendingEvent {
  let event: QueueEvent
  /// Called after the event is applied and before its results are reported.
  var onDecided: (@Sendable () -> Void)?
  /// Whether it was held; if so, it may be in the journal already and must not be dropped.
  var isRetry = false
}
