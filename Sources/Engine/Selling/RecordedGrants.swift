package import HostedModel
package import FoundationEssentials
package import HostedLedger

/// Purchases of the built-in store service in its ledger.
extension PurchaseOrder {
  /// Returns the purchase of `product` to be recorded.
  package func draft(of product: Product) throws -> PurchaseDraft {
    PurchaseDraft(
      transaction: transaction.rawValue, account: payment.applicationUsername,
      product: payment.productIdentifier, quantity: payment.quantity,
      requestDigest: try PurchaseDraft.digest(
        of: payment.productIdentifier, account: payment.applicationUsername,
        quantity: payment.quantity),
      state: .purchased,
      contents: product.soldContents, isRestorable: product.isRestorable)
  }
}

extension Grant {
  package init(_ record: PurchaseRecord) {
    self.init(
      transactionIdentifier: record.transaction, date: record.date, payment: record.payment,
      receipt: record.receipt)
  }
}

extension Receipt {
  /// Creates the receipt of a purchase; `original` is the account's first one of the product.
  package init(
    of purchase: PurchaseRecord, original: PurchaseRecord?, accountToken: AccountID?,
    signedDate: Date
  ) {
    self.init(
      transactionIdentifier: purchase.transaction,
      originalTransactionIdentifier: original?.transaction,
      productIdentifier: purchase.product, contentVersion: purchase.contents.first?.version,
      accountToken: accountToken, quantity: purchase.quantity, purchaseDate: purchase.date,
      originalPurchaseDate: original?.date, signedDate: signedDate)
  }
}

extension PurchaseRecord {
  package var payment: Payment {
    Payment(productIdentifier: product, quantity: quantity, applicationUsername: account)
  }
}

extension Result<LedgerOutcome, LedgerRefusal> {
  /// Returns the purchase of `order`; throws `transactionExists` if it is for another payment.
  package func purchase(for order: PurchaseOrder) throws -> PurchaseRecord {
    switch self {
    case .success(let outcome):
      guard let purchase = outcome.purchase else { break }
      if let refusal = purchase.state.refusal(of: purchase.product) { throw refusal }
      guard purchase.state == .purchased else { break }
      return purchase
    case .failure(.otherRequest(let known)):
      throw ContentError(
        .transactionExists,
        "The transaction identifier \(order.transaction) exists for another payment: "
          + known.payment.difference(from: order.payment),
        remedy: "Buy the product again. A new purchase has a new transaction identifier",
        subject: order.payment.productIdentifier.rawValue)
    case .failure(.failed(let error)): throw error
    case .failure(.unknownTransaction), .failure(.impossible): break
    }
    throw ContentError(
      .transactionExists, "The purchase \(order.transaction) was taken back",
      remedy: "Buy the product again. A new purchase has a new transaction identifier",
      subject: order.payment.productIdentifier.rawValue)
  }
}
