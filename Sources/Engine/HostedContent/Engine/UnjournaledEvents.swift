import ContentModel
import Dispatch

/// What becomes of an event whose changes could not be journaled.
enum UnwrittenEvent {
  /// These happen in memory instead.
  case replaced([QueueEvent])
  /// It is journaled later, and nothing is reported of it before; `shown` happens in memory at
  /// once.
  case held(QueueEvent, shown: [QueueEvent] = [])
  /// Nothing happens.
  case dropped
}

extension QueueEvent {
  /// What becomes of it after `error`; unless `isCertain`, a crash may bring its changes back.
  ///
  /// Wishes may be lost by a crash, so they are carried out all the same. An outcome that must be
  /// durable is held, or becomes a failure that agrees with whatever the next start finds.
  func fate(after error: ContentError, isCertain: Bool) -> UnwrittenEvent {
    switch self {
    case .launched, .startRequested, .pauseRequested, .resumeRequested, .cancelRequested,
      .activeLimitChanged, .priorityChanged, .contentResolved, .workEnded(_, .failed),
      .workEnded(_, .stopped), .purchaseAnswered(_, .deferred), .restoreRequested, .restoreLost,
      .restoreEnded, .finishAcknowledged, .storeEventsHandled:
      .replaced([self])
    // The next start would ask the seller again and could get another answer.
    case .purchaseAnswered(_, .purchased), .purchaseAnswered(_, .failed), .granted,
      .paymentRetried:
      .held(self)
    case .restored(_, _, _, purpose: .history): .replaced([.restoreLost(error)])
    case .paymentAdded(let id, _):
      isCertain
        ? .replaced([self, .purchaseAnswered(transaction: id, .failed(error))])
        : .held(.paymentRetried(transaction: id), shown: [self])
    case .workEnded(let id, .installed):
      isCertain ? .replaced([.workEnded(download: id, .failed(error))]) : .held(self)
    case .restored(_, _, _, purpose: .update), .finishRequested:
      isCertain ? .dropped : .held(self)
    }
  }

  /// The order's failure, if this is an answer that the journal refused; nil for any other event.
  func refused(with error: ContentError) -> QueueEvent? {
    guard case .purchaseAnswered(let id, .purchased(let grant, _)) = self,
      error.code == .answerMismatch
    else { return nil }
    let product = grant.payment.productIdentifier.rawValue
    return .purchaseAnswered(transaction: id, .failed(error.about(product)))
  }

  /// The transaction whose caller waits for this event and is told the error by its name.
  var awaitedTransaction: String? {
    switch self {
    case .finishRequested(let id), .restored(let id, _, _, _): id
    case .launched, .paymentAdded, .paymentRetried, .purchaseAnswered, .granted, .restoreRequested,
      .restoreLost, .restoreEnded, .finishAcknowledged, .storeEventsHandled, .startRequested,
      .pauseRequested, .resumeRequested,
      .cancelRequested, .activeLimitChanged, .priorityChanged, .contentResolved, .workEnded:
      nil
    }
  }
}

/// Events that must be journaled before anything is reported of them, in the order of their
/// retries.
struct HeldEvents {
  private var events: [PendingEvent] = []
  /// Transactions of which a payment is held, and those of which an answer is.
  private var payments: Set<String> = []
  private var answers: Set<String> = []
  /// Retries in a row that journaled nothing.
  private var failures = 0

  var count: Int { events.count }

  mutating func hold(_ event: QueueEvent, _ onDecided: (@Sendable () -> Void)? = nil) {
    events.append(PendingEvent(event: event, onDecided: onDecided, isRetry: true))
    if case .paymentRetried(let id) = event { payments.insert(id) }
    if case .purchaseAnswered(let id, _) = event { answers.insert(id) }
  }

  /// Takes the first `limit` events out, to be retried.
  mutating func take(_ limit: Int) -> [PendingEvent] {
    let taken = Array(events.prefix(limit))
    events.removeFirst(taken.count)
    for event in taken.map(\.event) {
      if case .paymentRetried(let id) = event { payments.remove(id) }
      if case .purchaseAnswered(let id, _) = event { answers.remove(id) }
    }
    return taken
  }

  /// Whether the seller is not asked about `transaction` now: its payment or its answer is held.
  func isHeld(_ transaction: String) -> Bool {
    payments.contains(transaction) || answers.contains(transaction)
  }

  /// Whether `event` comes too late: it answers an order whose first answer is held.
  func decides(_ event: QueueEvent) -> Bool {
    if case .purchaseAnswered(let id, _) = event { answers.contains(id) } else { false }
  }

  /// Notes whether a retry has journaled anything.
  mutating func noteRetry(isSuccess: Bool) { failures = isSuccess ? 0 : failures + 1 }

  /// How long to wait before the next retry: from 0.1 to 25.6 seconds.
  var delay: DispatchTimeInterval { .milliseconds(100 << min(failures, 8)) }
}
