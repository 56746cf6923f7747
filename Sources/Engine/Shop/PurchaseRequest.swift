public import HostedModel
import HostedDigests

/// A request for a purchase, about which a `PurchaseDecider` decides.
public struct PurchaseRequest: Hashable, Sendable {
  /// Identifies the purchase; the same each time it is requested or decided again.
  public let transaction: TransactionID
  /// The account; nil for the library's own.
  public let account: AccountID?
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The quantity, 1 to 10.
  public let quantity: Int
  /// Whether another person must approve the purchase (Ask to Buy).
  public let asksToBuy: Bool
  /// The code of a voucher; nil without one.
  ///
  /// It is not stored, so it is nil after an approval, too.
  public let voucher: String?
  /// Whether the other person has approved the purchase.
  public var isApproved = false
  /// The price of one in the store's signed catalog; nil if it has none.
  public var price: Price?

  /// Creates a request.
  public init(
    transaction: TransactionID, account: AccountID?, productIdentifier: ProductIdentifier,
    quantity: Int = 1, asksToBuy: Bool = false, voucher: String? = nil
  ) {
    self.transaction = transaction
    self.account = account
    self.productIdentifier = productIdentifier
    self.quantity = quantity
    self.asksToBuy = asksToBuy
    self.voucher = voucher
  }
}

extension PurchaseRequest {
  /// The digest of everything except the transaction; a repeated request has the same.
  package var digest: Digest {
    get throws {
      var members: [String: JSONValue] = [
        "product": .string(productIdentifier.rawValue), "quantity": .integer(Int64(quantity)),
        "account": account.map { .string($0.rawValue) } ?? .null,
      ]
      if asksToBuy { members["askToBuy"] = .bool(true) }
      members["voucher"] = voucher.map { .string($0) }
      return try Digest(of: JSONValue.object(members).encoded)
    }
  }

  /// The digest of the voucher's code.
  var voucherDigest: Digest? {
    get throws { try voucher.map { try Digest(of: Array($0.utf8)) } }
  }
}

extension PurchaseRequest: CustomStringConvertible {
  /// The transaction, the product and its quantity; without the voucher's code.
  public var description: String {
    "transaction \(transaction): \(quantity) × \(productIdentifier)"
  }
}
