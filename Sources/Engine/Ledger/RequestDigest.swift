package import HostedModel
import HostedDigests

extension PurchaseDraft {
  /// Returns the digest of a request, which identifies it when it is repeated.
  package static func digest(
    of product: ProductIdentifier, account: AccountID?, quantity: Int, asksToBuy: Bool = false,
    voucher: String? = nil
  ) throws -> Digest {
    var members: [String: JSONValue] = [
      "product": .string(product.rawValue), "quantity": .integer(Int64(quantity)),
      "account": account.map { .string($0.rawValue) } ?? .null,
    ]
    if asksToBuy { members["askToBuy"] = .bool(true) }
    members["voucher"] = voucher.map { .string($0) }
    return try Digest(of: JSONValue.object(members).encoded)
  }
}
