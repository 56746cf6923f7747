import ContentModel

/// Events that wait to be handled, in their order.
struct EngineInbox {
  var pendingEvents: [PendingEvent] = []
  /// Whether the serial queue will look into it.
  var isExpected = false

  /// Takes everything out.
  mutating func take() -> ArraySlice<PendingEvent> {
    defer { pendingEvents = [] }
    return pendingEvents[...]
  }
}

/// An event that waits to be handled.
struct PendingEvent {
  let event: QueueEvent
  /// Called when the event was decided, before anything of it is reported.
  var onDecided: (@Sendable () -> Void)?
  /// Whether it was held; what may be in the journal already cannot be given up.
  var isRetry = false
}

/// An event and what it led to; its reports tell of transactions as they stood right after it.
///
/// Not the whole state: hundreds of those would each hold a copy of what changed between them.
struct DecidedEvent {
  let pending: PendingEvent
  let decision: QueueDecision
  let reported: ReportedRecords
}
