import ContentModel

/// Submitted events, in order.
struct EngineInbox {
  var pendingEvents: ArraySlice<PendingEvent> = []
  /// Whether the serial queue is scheduled to read it.
  var isExpected = false

  /// Removes and returns up to `limit` events.
  mutating func take(_ limit: Int) -> [PendingEvent] {
    let taken = Array(pendingEvents.prefix(limit))
    // An empty slice would keep the handled events in memory.
    pendingEvents = taken.count == pendingEvents.count ? [] : pendingEvents.dropFirst(limit)
    isExpected = !pendingEvents.isEmpty
    return taken
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
