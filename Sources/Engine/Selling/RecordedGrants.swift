package import HostedModel
import FoundationEssentials
package import HostedShop

/// Purchases of a ledger as a queue knows them.
extension Grant {
  package init(_ record: PurchaseRecord) {
    self.init(
      transactionIdentifier: record.transaction, date: record.date, payment: record.payment,
      receipt: record.receipt)
  }
}

extension Receipt {
  /// Creates the receipt of a purchase; that of a repeat names the sale as its original.
  ///
  /// It is signed with the date of the purchase, so that each of its receipts is the same.
  package init(of purchase: PurchaseRecord, accountToken: AccountID?) {
    self.init(
      transactionIdentifier: purchase.transaction,
      originalTransactionIdentifier: purchase.original?.transaction,
      productIdentifier: purchase.product, contentVersion: purchase.contents.first?.version,
      accountToken: accountToken, quantity: purchase.quantity, purchaseDate: purchase.date,
      originalPurchaseDate: purchase.original?.date, signedDate: purchase.date)
  }
}

extension PurchaseRecord {
  package var payment: Payment {
    Payment(productIdentifier: product, quantity: quantity, applicationUsername: account)
  }
}

extension PurchaseRequest {
  /// The request of an order.
  package init(_ order: PurchaseOrder) {
    self.init(
      transaction: order.transaction, account: order.payment.applicationUsername,
      productIdentifier: order.payment.productIdentifier, quantity: order.payment.quantity,
      asksToBuy: order.payment.simulatesAskToBuy)
  }
}

extension LedgerRefusal {
  /// Returns the error of an order that the ledger refuses.
  package func error(of order: PurchaseOrder) -> ContentError {
    let product = order.payment.productIdentifier.rawValue
    switch self {
    case .otherRequest(let known):
      return ContentError(
        .transactionExists,
        "The transaction identifier \(order.transaction) exists for another payment: "
          + known.payment.difference(from: order.payment),
        remedy: "Buy the product again. A new purchase has a new transaction identifier",
        subject: product)
    case .erased:
      return ContentError(
        .notEntitled, "The account of the purchase \(order.transaction) was erased",
        remedy: "Buy the product again. A new purchase has a new transaction identifier",
        subject: product)
    case .tooManyWaiting(let count):
      return ContentError(
        .serverBusy, "\(count) purchases of the account wait for approval",
        remedy: "Wait until some of them are decided, then buy \(product) again", subject: product)
    case .failed(let error): return error
    case .unknownTransaction, .impossible, .needsDecision, .otherChange:
      return ContentError.defect("The ledger refuses the purchase \(order.transaction)")
    }
  }
}
