public import FoundationEssentials

/// A request to buy a product; a value, copied when it is added.
///
/// Source: `SKPayment`.
public struct Payment: Hashable, Codable, Sendable {
  /// What is bought.
  public var productIdentifier: ProductIdentifier
  /// How many, 1 to 10.
  public var quantity: Int
  /// An opaque name of the buyer's account, at most 256 bytes; nil for the library's own.
  public var applicationUsername: String?
  /// Whether the built-in seller defers it, as if somebody else had to decide; for tests.
  public var simulatesAskToBuy: Bool

  /// Creates a payment.
  public init(
    productIdentifier: ProductIdentifier, quantity: Int = 1, applicationUsername: String? = nil,
    simulatesAskToBuy: Bool = false
  ) {
    self.productIdentifier = productIdentifier
    self.quantity = quantity
    self.applicationUsername = applicationUsername
    self.simulatesAskToBuy = simulatesAskToBuy
  }

  /// Reads a payment, also one of before ask to buy could be simulated.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    productIdentifier = try values.decode(ProductIdentifier.self, forKey: .productIdentifier)
    quantity = try values.decode(Int.self, forKey: .quantity)
    applicationUsername = try values.decodeIfPresent(String.self, forKey: .applicationUsername)
    simulatesAskToBuy =
      try values.decodeIfPresent(Bool.self, forKey: .simulatesAskToBuy) ?? false
  }

  private enum CodingKeys: CodingKey {
    case productIdentifier, quantity, applicationUsername, simulatesAskToBuy
  }

  /// What is wrong with the payment, nil when it can be sent.
  public var refusal: ContentError? {
    guard (1...10).contains(quantity) else {
      return ContentError(
        .paymentInvalid, "A payment for \(productIdentifier) asks for \(quantity) of it",
        remedy: "Use a quantity from 1 to 10", subject: productIdentifier.rawValue)
    }
    guard (applicationUsername?.utf8.count ?? 0) <= 256 else {
      return ContentError(
        .paymentInvalid, "The account's name for \(productIdentifier) is longer than 256 bytes",
        remedy: "Use a one-way hash of the account's name", subject: productIdentifier.rawValue)
    }
    return nil
  }
}

/// What the seller answered to a payment.
public enum PurchaseOutcome: Hashable, Codable, Sendable {
  /// The account has it; these packages belong to it.
  ///
  /// The grant's payment has the product, quantity and account of the order, and its transaction
  /// identifier answers no other order; else the purchase fails with `answerMismatch`. Of the
  /// contents, identifier and version count. The rest comes from the store's catalog, if any.
  case purchased(Grant, contents: [ContentOffer])
  /// Refused or failed; nothing was charged.
  case failed(ContentError)
  /// Somebody else decides later.
  case deferred
}

/// The seller's record that an account may have a product.
public struct Grant: Hashable, Codable, Sendable {
  /// The seller's number of the purchase, unique for ever.
  public let transactionIdentifier: String
  /// When it was bought, rounded to milliseconds.
  public let date: Date
  /// What was paid for.
  public let payment: Payment
  /// A signed receipt (JWS), nil when the seller holds no key.
  public let receipt: String?

  /// Creates a grant.
  public init(
    transactionIdentifier: String, date: Date, payment: Payment, receipt: String? = nil
  ) {
    self.transactionIdentifier = transactionIdentifier
    // Rounded, so that a date that was written to a database and read again is equal.
    self.date = Date(
      timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate * 1000).rounded() / 1000)
    self.payment = payment
    self.receipt = receipt
  }
}
