package import HostedModel
import HostedLedger

/// A valid request for a purchase.
package struct PurchaseRequest: Hashable, Sendable {
  package let transaction: String
  package let account: AccountID
  package let product: ProductIdentifier
  /// 1 to 10.
  package let quantity: Int
  /// Whether it waits for approval by another person.
  package let asksToBuy: Bool
  package let voucher: String?

  package init(
    transaction: String, account: AccountID, product: ProductIdentifier, quantity: Int = 1,
    asksToBuy: Bool = false, voucher: String? = nil
  ) {
    self.transaction = transaction
    self.account = account
    self.product = product
    self.quantity = quantity
    self.asksToBuy = asksToBuy
    self.voucher = voucher
  }
}

extension PurchaseRequest {
  /// The members of a request, except the transaction.
  static let members: Set<String> = [
    "productIdentifier", "account", "quantity", "askToBuy", "voucher",
  ]

  /// Reads a request; throws a problem if it is invalid or the caller may not use the account.
  init(_ fields: RequestFields, transaction: String?, for access: AccountAccess) throws {
    guard let transaction, transaction.isVisibleIdentifier else {
      throw Problem.malformed(
        "the transaction identifier (Idempotency-Key) is not 1 to 128 visible ASCII characters, "
          + "or is “.” or “..”")
    }
    guard let product = try fields.text("productIdentifier", limit: 1_000) else {
      throw Problem.malformed("productIdentifier is missing")
    }
    let quantity = try fields.number("quantity") ?? 1
    guard (1...10).contains(quantity) else {
      throw Problem(
        400,
        ContentError(
          .paymentInvalid, "The quantity \(quantity) is invalid",
          remedy: "Use a quantity from 1 to 10"))
    }
    self.init(
      transaction: transaction, account: try access.account(fields.text("account", limit: 1_000)),
      product: try Self.identifier(product), quantity: Int(quantity),
      asksToBuy: try fields.flag("askToBuy"), voucher: try fields.text("voucher", limit: 256))
  }

  private static func identifier(_ text: String) throws -> ProductIdentifier {
    do {
      return try ProductIdentifier(validating: text)
    } catch {
      throw Problem(400, ContentError(error, while: "reading a product identifier"))
    }
  }

  /// The digest of everything except the transaction; a repeated request has the same.
  var digest: Digest {
    get throws {
      try PurchaseDraft.digest(
        of: product, account: account, quantity: quantity, asksToBuy: asksToBuy, voucher: voucher)
    }
  }
}
