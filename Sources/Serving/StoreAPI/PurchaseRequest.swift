import FoundationEssentials
import HostedModel
import HostedShop

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
    guard !access.isRestricted || UUID(uuidString: transaction) != nil else {
      throw Problem.malformed(
        "the transaction identifier (Idempotency-Key) of a device, whose token has the claim sub, "
          + "is not a UUID")
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
      transaction: TransactionID(rawValue: transaction),
      account: try access.account(fields.text("account", limit: 1_000)),
      productIdentifier: try Self.identifier(product), quantity: Int(quantity),
      asksToBuy: try fields.flag("askToBuy"), voucher: try fields.text("voucher", limit: 256))
  }

  private static func identifier(_ text: String) throws -> ProductIdentifier {
    do {
      return try ProductIdentifier(validating: text)
    } catch {
      throw Problem(400, ContentError(error, while: "reading a product identifier"))
    }
  }
}
