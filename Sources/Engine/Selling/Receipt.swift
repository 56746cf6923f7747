public import HostedModel
import HostedTrust
public import FoundationEssentials

/// The content of a seller's signed receipt: who bought what, and when.
///
/// A receipt is a JSON Web Signature in compact form (RFC 7515), signed with Ed25519 (`EdDSA`) or
/// ECDSA over P-256 (`ES256`). The `typ` of its header is `receipt+jwt`. Its claims are
/// `transactionIdentifier`, `originalTransactionIdentifier`, `productIdentifier`, `contentVersion`,
/// `accountToken`, `quantity`, `purchaseDate` and `originalPurchaseDate`, and `iat` and `exp` of
/// RFC 7519. Times are whole seconds since 1970.
public struct Receipt: Hashable, Sendable {
  /// The seller's number of the purchase.
  public let transactionIdentifier: String
  /// The number of the account's first purchase of the product; the same unless bought again.
  public let originalTransactionIdentifier: String
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The version of its content offered at that time; nil for a product without content.
  public let contentVersion: ContentVersion?
  /// The account that may use it, as in `Payment.applicationUsername`.
  ///
  /// Nil means the library's own account.
  public let accountToken: AccountID?
  /// The quantity.
  public let quantity: Int
  /// The date of the purchase.
  public let purchaseDate: Date
  /// The date of the account's first purchase of the product.
  public let originalPurchaseDate: Date
  /// The date of signing.
  public let signedDate: Date
  /// The date when the receipt expires; nil for never.
  public let expirationDate: Date?

  /// Creates a receipt; nil originals mean those of this purchase.
  public init(
    transactionIdentifier: String, originalTransactionIdentifier: String? = nil,
    productIdentifier: ProductIdentifier, contentVersion: ContentVersion? = nil,
    accountToken: AccountID? = nil, quantity: Int = 1, purchaseDate: Date,
    originalPurchaseDate: Date? = nil, signedDate: Date, expirationDate: Date? = nil
  ) {
    self.transactionIdentifier = transactionIdentifier
    self.originalTransactionIdentifier = originalTransactionIdentifier ?? transactionIdentifier
    self.productIdentifier = productIdentifier
    self.contentVersion = contentVersion
    self.accountToken = accountToken
    self.quantity = quantity
    self.purchaseDate = purchaseDate
    self.originalPurchaseDate = originalPurchaseDate ?? purchaseDate
    self.signedDate = signedDate
    self.expirationDate = expirationDate
  }
}

extension Receipt {
  /// The `typ` of the header, so that another token is not accepted as a receipt by accident.
  static let type = "receipt+jwt"

  init(claims: JSONValue) throws {
    func text(_ name: String) throws -> String? {
      guard let value = claims[name], value != .null else { return nil }
      guard let text = value.string, text.utf8.count <= 256 else { throw Self.wrong(name) }
      return text
    }
    func required(_ name: String) throws -> String {
      guard let text = try text(name), !text.isEmpty else { throw Self.wrong(name) }
      return text
    }
    func time(_ name: String) throws -> Date? {
      guard let value = claims[name], value != .null else { return nil }
      // The limit is the end of the year 9999.
      guard let seconds = value.integer, (0...253_402_300_799).contains(seconds) else {
        throw Self.wrong(name)
      }
      return Date(timeIntervalSince1970: TimeInterval(seconds))
    }
    guard let purchased = try time("purchaseDate") else { throw Self.wrong("purchaseDate") }
    let quantity = claims["quantity"] == nil ? 1 : claims["quantity"]?.integer
    guard let quantity, (1...10).contains(quantity) else { throw Self.wrong("quantity") }
    let product = try required("productIdentifier")
    guard let product = try? ProductIdentifier(validating: product) else {
      throw Self.wrong("productIdentifier")
    }
    let version = try text("contentVersion")
    let contentVersion = version.flatMap { try? ContentVersion(validating: $0) }
    if version != nil, contentVersion == nil { throw Self.wrong("contentVersion") }
    self.init(
      transactionIdentifier: try required("transactionIdentifier"),
      originalTransactionIdentifier: try text("originalTransactionIdentifier"),
      productIdentifier: product, contentVersion: contentVersion,
      accountToken: try text("accountToken").map(AccountID.init(rawValue:)),
      quantity: Int(quantity), purchaseDate: purchased,
      originalPurchaseDate: try time("originalPurchaseDate"),
      signedDate: try time("iat") ?? purchased, expirationDate: try time("exp"))
  }

  private static func wrong(_ name: String) -> ContentError {
    .receiptInvalid("\(name) is missing or invalid")
  }

  var claims: JSONValue {
    func seconds(_ date: Date) -> JSONValue {
      // −1 is refused, as every other date outside the range.
      .integer(Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? -1)
    }
    var claims: [String: JSONValue] = [
      "transactionIdentifier": .string(transactionIdentifier),
      "originalTransactionIdentifier": .string(originalTransactionIdentifier),
      "productIdentifier": .string(productIdentifier.rawValue),
      "quantity": .integer(Int64(quantity)), "purchaseDate": seconds(purchaseDate),
      "originalPurchaseDate": seconds(originalPurchaseDate), "iat": seconds(signedDate),
    ]
    claims["contentVersion"] = contentVersion.map { .string($0.rawValue) }
    claims["accountToken"] = accountToken.map { .string($0.rawValue) }
    claims["exp"] = expirationDate.map(seconds)
    return .object(claims)
  }
}

extension Receipt: CustomStringConvertible {
  /// The number of the purchase, the product and its version.
  public var description: String {
    let version = contentVersion.map { " \($0)" } ?? ""
    return "purchase \(transactionIdentifier.printable(limit: 256)): "
      + "\(quantity) × \(productIdentifier)\(version)"
  }
}
