import ContentModel

/// Submitted events, in order.
struct EngineInbox {
  var pendingEvents: [PendingEvent] = []
  /// Whether the serial queue is scheduled to read it.
  var isExpected = false

  /// Removes and returns all events.
  mutating func take() -> ArraySlice<PendingEvent> {
    defer { pendingEvents = [] }
    return pendingEvents[...]
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
