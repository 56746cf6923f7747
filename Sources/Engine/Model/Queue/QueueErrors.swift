extension ContentError {
  static func restoreUnderWay(_ request: String) -> ContentError {
    ContentError(
      .restoreUnderWay, "A restore of purchases is already running",
      remedy: "Wait until it has finished or failed", subject: request)
  }

  static func cannotFinish(_ transaction: TransactionRecord) -> ContentError {
    ContentError(
      .cannotFinish,
      "Cannot finish the transaction for \(transaction.payment.productIdentifier): "
        + "it is \(transaction.state)",
      remedy: "Finish it once it is purchased, failed or restored", subject: transaction.id)
  }

  /// A new transaction has the identifier of another one, which may be finished.
  package static func transactionExists(_ id: String) -> ContentError {
    ContentError(
      .transactionExists, "A transaction with the identifier \(id) already exists",
      remedy: "Try again; each transaction needs a new identifier", subject: id)
  }
}
