import ContentModel

/// What becomes of an event whose changes could not be journaled.
extension QueueEvent {
  /// What happens in memory alone instead of it; nil when nothing must.
  ///
  /// Wishes may be lost by a crash, so they are carried out all the same. What must be durable
  /// becomes a failure that can be tried again once the journal can be written.
  func substitute(after error: ContentError) -> [QueueEvent]? {
    switch self {
    case .launched, .startRequested, .pauseRequested, .resumeRequested, .cancelRequested,
      .activeLimitChanged, .priorityChanged, .contentResolved, .workEnded(_, .failed),
      .workEnded(_, .stopped),
      .purchaseAnswered(_, .failed), .purchaseAnswered(_, .deferred), .restoreRequested,
      .restoreLost, .restoreEnded:
      [self]
    case .restored(_, _, _, purpose: .history): [.restoreLost(error)]
    case .paymentAdded(let id, _): [self, .purchaseAnswered(transaction: id, .failed(error))]
    case .purchaseAnswered(let id, .purchased):
      [.purchaseAnswered(transaction: id, .failed(error))]
    case .workEnded(let id, .installed): [.workEnded(download: id, .failed(error))]
    case .restored(_, _, _, purpose: .update), .granted, .finishRequested: nil
    }
  }

  /// The order's failure, if this is an answer that the journal refused; nil for any other event.
  func refused(with error: any Error) -> QueueEvent? {
    guard case .purchaseAnswered(let id, .purchased(let grant, _)) = self,
      let error = error as? ContentError, error.code == .answerMismatch
    else { return nil }
    let product = grant.payment.productIdentifier.rawValue
    return .purchaseAnswered(transaction: id, .failed(error.about(product)))
  }

  /// The transaction of which nothing else is reported then.
  var unreportedTransaction: String? {
    switch self {
    case .finishRequested(let id), .restored(let id, _, _, _), .granted(let id, _, _): id
    case .launched, .paymentAdded, .purchaseAnswered, .restoreRequested, .restoreLost,
      .restoreEnded, .startRequested, .pauseRequested, .resumeRequested, .cancelRequested,
      .activeLimitChanged, .priorityChanged, .contentResolved, .workEnded:
      nil
    }
  }
}
