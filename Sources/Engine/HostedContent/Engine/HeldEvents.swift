import HostedTransfer

/// Events that must be journaled before they are reported, in the order of retries.
struct HeldEvents {
  private var events: [PendingEvent] = []
  /// Transactions whose payment is held, and transactions whose response is held.
  private var payments: Set<TransactionID> = []
  private var answers: Set<TransactionID> = []
  /// The number of consecutive retries that failed.
  private var failures = 0

  var count: Int { events.count }

  mutating func hold(_ event: QueueEvent, _ onDecided: (@Sendable () -> Void)? = nil) {
    events.append(PendingEvent(event: event, onDecided: onDecided, isRetry: true))
    if case .paymentRetried(let id) = event { payments.insert(id) }
    if case .purchaseAnswered(let id, _) = event { answers.insert(id) }
  }

  /// Removes and returns the first `limit` events, for a retry.
  mutating func take(_ limit: Int) -> [PendingEvent] {
    let taken = Array(events.prefix(limit))
    events.removeFirst(taken.count)
    for event in taken.map(\.event) {
      if case .paymentRetried(let id) = event { payments.remove(id) }
      if case .purchaseAnswered(let id, _) = event { answers.remove(id) }
    }
    return taken
  }

  /// Returns whether the payment or response of `transaction` is held.
  ///
  /// The service is not asked about it meanwhile.
  func isHeld(_ transaction: TransactionID) -> Bool {
    payments.contains(transaction) || answers.contains(transaction)
  }

  /// Drops a second response to a purchase whose first response is held; returns whether it did.
  ///
  /// `onDecided` of the second one is called with that of the first one.
  mutating func dropIfHeld(_ pending: PendingEvent) -> Bool {
    guard case .purchaseAnswered(let id, _) = pending.event, answers.contains(id) else {
      return false
    }
    let first = events.firstIndex {
      if case .purchaseAnswered(transaction: id, _) = $0.event { true } else { false }
    }
    if let first, let later = pending.onDecided {
      let earlier = events[first].onDecided
      events[first].onDecided = {
        earlier?()
        later()
      }
    }
    return true
  }

  mutating func noteRetry(isSuccess: Bool) { failures = isSuccess ? 0 : failures + 1 }

  /// When a failed retry is repeated.
  private static let retryPolicy = RetryPolicy(firstDelay: 0.1, longestDelay: 25.6)

  /// Returns the delay in seconds before the next retry; `random` is from 0 to 1.
  func delay(random: Double) -> Double {
    Self.retryPolicy.delay(afterFailure: failures + 1, retryAfter: nil, random: random)
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

extension QueueEvent {
  /// Returns how to handle this event after `error` of a commit: the events to apply in memory at
  /// once, and the event to journal later and to report after that.
  ///
  /// Unless `isCertain`, its changes may reappear after a crash. Requests may be lost by a crash,
  /// so they are applied in memory. A result that must be durable is held, or becomes a failure
  /// that is consistent with what the next start finds.
  func handling(after error: ContentError, isCertain: Bool) -> (
    shown: [QueueEvent], held: QueueEvent?
  ) {
    switch self {
    case .launched, .startRequested, .pauseRequested, .resumeRequested, .cancelRequested,
      .activeLimitChanged, .priorityChanged, .contentResolved, .workEnded(_, .failed),
      .workEnded(_, .stopped), .purchaseAnswered(_, .deferred), .purchaseAnswered(_, .undecided),
      .restoreRequested, .restoreLost,
      .restoreEnded, .finishAcknowledged, .storeEventsHandled:
      ([self], nil)
    // Otherwise the next start asks the service again and may get another response.
    case .purchaseAnswered(_, .purchased), .purchaseAnswered(_, .failed), .granted,
      .paymentRetried:
      ([], self)
    case .restored(_, _, _, purpose: .history): ([.restoreLost(error)], nil)
    case .paymentAdded(let id, _):
      isCertain
        ? ([self, .purchaseAnswered(transaction: id, .failed(error))], nil)
        : ([self], .paymentRetried(transaction: id))
    case .workEnded(let id, .installed):
      isCertain ? ([.workEnded(download: id, .failed(error))], nil) : ([], self)
    case .restored(_, _, _, purpose: .update), .finishRequested: ([], isCertain ? nil : self)
    }
  }

  /// The failure of the purchase, if the journal refused this response; nil for other events.
  func refused(with error: ContentError) -> QueueEvent? {
    guard case .purchaseAnswered(let id, .purchased(let grant, _)) = self,
      error.code == .answerMismatch
    else { return nil }
    let product = grant.payment.productIdentifier.rawValue
    return .purchaseAnswered(transaction: id, .failed(error.about(product)))
  }

  /// The transaction whose caller waits for this event and receives its error.
  var awaitedTransaction: TransactionID? {
    switch self {
    case .finishRequested(let id), .restored(let id, _, _, _): id
    case .launched, .paymentAdded, .paymentRetried, .purchaseAnswered, .granted, .restoreRequested,
      .restoreLost, .restoreEnded, .finishAcknowledged, .storeEventsHandled, .startRequested,
      .pauseRequested, .resumeRequested, .cancelRequested, .activeLimitChanged, .priorityChanged,
      .contentResolved, .workEnded:
      nil
    }
  }
}
