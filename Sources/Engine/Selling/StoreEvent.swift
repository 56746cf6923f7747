public import HostedModel

/// An event of a store service.
public enum StoreEvent: Hashable, Sendable {
  /// A deferred, late or interrupted purchase was decided; the outcome is checked like any other.
  ///
  /// If the transaction failed before, and is purchased now, the queue that ordered it delivers it
  /// as another transaction. Other queues ignore the event.
  case answered(transaction: TransactionID, PurchaseOutcome)
  /// A purchase without a payment in this queue, such as one made on another machine.
  ///
  /// Its number may have been delivered before.
  case granted(Grant, contents: [ContentOffer])
  /// An account lost products, such as by a refund; observers are notified.
  ///
  /// `PaymentQueue.Configuration.revokedContent` determines what happens to installed content.
  case revoked(Revocation)
  /// The account's storefront changed.
  case storefrontChanged(Storefront)
  /// The user chose a product outside the service; observers decide whether it is added.
  case promoted(Payment)
  /// Content may have changed; deliver it, for example, for a push notification.
  case contentPublished
  /// Nothing happened; the queue stores the cursor and asks for later events after a restart.
  case checkpoint
}

/// An event of a store service with its cursor.
public struct StoreEventRecord: Hashable, Sendable {
  /// The event.
  public let event: StoreEvent
  /// The position of the event in the service's format; nil if the service does not keep events.
  public let cursor: String?

  /// Creates a record.
  public init(_ event: StoreEvent, cursor: String? = nil) {
    self.event = event
    self.cursor = cursor
  }
}

/// The loss of products by an account.
public struct Revocation: Hashable, Sendable {
  /// The products that the account lost.
  public let productIdentifiers: [ProductIdentifier]
  /// The account; nil for the library's own.
  public let account: AccountID?
  /// The seller's number of the purchase that was revoked; nil if the service names only products.
  public let transactionIdentifier: String?

  /// Creates a revocation.
  public init(
    _ productIdentifiers: [ProductIdentifier], account: AccountID? = nil,
    transactionIdentifier: String? = nil
  ) {
    self.productIdentifiers = productIdentifiers
    self.account = account
    self.transactionIdentifier = transactionIdentifier
  }
}

/// The storefront of an account.
///
/// Source: `SKStorefront`.
public struct Storefront: Hashable, Codable, Sendable {
  /// ISO 3166-1 alpha-3.
  public let countryCode: String
  /// The seller's identifier of the storefront.
  public let identifier: String

  /// Creates a storefront.
  public init(countryCode: String, identifier: String) {
    self.countryCode = countryCode
    self.identifier = identifier
  }
}

/// An earlier purchase of an account, with its current content.
public struct RestoredPurchase: Hashable, Sendable {
  /// The purchase as it was granted.
  public let original: Grant
  /// The newest content packages.
  ///
  /// With a catalog, only identifiers and versions are used: see
  /// `ContentOffer.init(_:version:of:)`.
  public let contents: [ContentOffer]

  /// Creates a restored purchase.
  public init(original: Grant, contents: [ContentOffer]) {
    self.original = original
    self.contents = contents
  }
}

extension StoreEvent: CustomStringConvertible {
  /// The kind of the event and its values.
  public var description: String {
    switch self {
    case .answered(let transaction, let outcome): "answered \(transaction): \(outcome)"
    case .granted(let grant, let contents): "granted \(grant), contents: \(contents)"
    case .revoked(let revocation): "revoked \(revocation)"
    case .storefrontChanged(let storefront): "storefront changed: \(storefront)"
    case .promoted(let payment): "promoted \(payment)"
    case .contentPublished: "content published"
    case .checkpoint: "checkpoint"
    }
  }
}

extension StoreEventRecord: CustomStringConvertible {
  /// The event and its cursor.
  public var description: String {
    "\(event)\(cursor.map { " at \($0.printable(limit: 200))" } ?? "")"
  }
}

extension Revocation: CustomStringConvertible {
  /// The products and the account.
  public var description: String {
    let account = account.map { " for \($0.rawValue.printable(limit: 256))" } ?? ""
    return "\(productIdentifiers)\(account)"
  }
}

extension Storefront: CustomStringConvertible {
  /// The country code and the identifier.
  public var description: String { "\(countryCode) (\(identifier))".printable(limit: 200) }
}

extension RestoredPurchase: CustomStringConvertible {
  /// The purchase and its contents.
  public var description: String { "\(original), contents: \(contents)" }
}
