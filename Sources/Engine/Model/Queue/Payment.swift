public import FoundationEssentials

/// A request to buy a product; a value, which the queue copies.
///
/// Source: `SKPayment`.
public struct Payment: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The product to buy.
  public var productIdentifier: ProductIdentifier
  /// The quantity, 1 to 10.
  public var quantity: Int
  /// An opaque identifier of the buyer's account, at most 256 bytes; nil for the library's own.
  public var applicationUsername: AccountID?
  /// Whether the built-in store service defers it, as if it needed approval; for tests.
  public var simulatesAskToBuy: Bool

  /// Creates a payment.
  public init(
    productIdentifier: ProductIdentifier, quantity: Int = 1, applicationUsername: AccountID? = nil,
    simulatesAskToBuy: Bool = false
  ) {
    self.productIdentifier = productIdentifier
    self.quantity = quantity
    self.applicationUsername = applicationUsername
    self.simulatesAskToBuy = simulatesAskToBuy
  }

  /// The reason why the payment is invalid; nil if it is valid.
  public var refusal: ContentError? {
    guard (1...10).contains(quantity) else {
      return ContentError(
        .paymentInvalid, "The quantity \(quantity) of \(productIdentifier) is invalid",
        remedy: "Use a quantity from 1 to 10", subject: productIdentifier.rawValue)
    }
    guard (applicationUsername?.rawValue.utf8.count ?? 0) <= 256 else {
      return ContentError(
        .paymentInvalid, "The account name for \(productIdentifier) is longer than 256 bytes",
        remedy: "Use a one-way hash of the account name", subject: productIdentifier.rawValue)
    }
    return nil
  }

  /// The quantity, the product and the account, such as `1 × com.example.book for anna`.
  public var description: String {
    let account = applicationUsername.map { " for \($0.rawValue.printable(limit: 256))" } ?? ""
    return "\(quantity) × \(productIdentifier)\(account)"
  }
}

/// The store service's outcome of a payment.
public enum PurchaseOutcome: Hashable, Codable, Sendable, CustomStringConvertible {
  /// Purchased, with the contents of the product.
  ///
  /// The grant must have the product, quantity and account of the order, and a transaction
  /// identifier that no other order has. Otherwise the purchase fails with `answerMismatch`. Only
  /// identifiers and versions of the contents are used if there is a catalog, which provides the
  /// rest.
  case purchased(Grant, contents: [ContentOffer])
  /// Refused; the account was not charged, and nothing is sold under this transaction later.
  case failed(ContentError)
  /// Waiting for a decision, such as an approval or a payment.
  case deferred
  /// Unknown: the product may be sold.
  ///
  /// The transaction stays purchasing. The error is reported once, and the order is repeated with
  /// the same transaction after 1 second at first and 256 seconds at most.
  case undecided(ContentError)

  /// The outcome with its grant and contents, or its error.
  public var description: String {
    switch self {
    case .purchased(let grant, let contents): "purchased: \(grant), contents: \(contents)"
    case .failed(let error): "failed: \(error)"
    case .deferred: "deferred"
    case .undecided(let error): "undecided: \(error)"
    }
  }
}

/// The seller's record that an account is entitled to a product.
public struct Grant: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The seller's number of the purchase, unique forever.
  public let transactionIdentifier: String
  /// The date of the purchase, rounded to milliseconds.
  public let date: Date
  /// The payment.
  public let payment: Payment
  /// The signed receipt (JWS); nil if the seller does not sign receipts.
  public let receipt: String?

  /// Creates a grant.
  public init(transactionIdentifier: String, date: Date, payment: Payment, receipt: String? = nil) {
    self.transactionIdentifier = transactionIdentifier
    // Rounded, so that a date read back from a database is equal.
    self.date = Date(
      timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate * 1000).rounded() / 1000)
    self.payment = payment
    self.receipt = receipt
  }

  /// Decodes a grant, whose date is rounded too.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      transactionIdentifier: try container.decode(String.self, forKey: .transactionIdentifier),
      date: try container.decode(Date.self, forKey: .date),
      payment: try container.decode(Payment.self, forKey: .payment),
      receipt: try container.decodeIfPresent(String.self, forKey: .receipt))
  }

  /// The number of the purchase and the payment, without the receipt.
  public var description: String {
    "purchase \(transactionIdentifier.printable(limit: 256)): \(payment)"
  }
}
