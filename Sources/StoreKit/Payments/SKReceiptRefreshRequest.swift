import HostedContent

/// Requests the account's grants from the store service.
///
/// Instead of one receipt for the app, each purchase has a receipt signed by the seller, in
/// `SKPaymentTransaction.transactionReceipt`. The request finishes when the service has responded.
// Sendable because SKRequest is, and it is immutable.
open class SKReceiptRefreshRequest: SKRequest, @unchecked Sendable {
  private let properties: [String: String]?

  /// Creates a request without properties.
  public override init() {
    properties = nil
    super.init()
  }

  /// Creates a request; `properties` has the keys `SKReceiptProperty…` and is ignored.
  ///
  /// The properties are for tests in Apple's sandbox.
  public init(receiptProperties properties: [String: Any]?) {
    self.properties = properties?.mapValues { "\($0)" }
    super.init()
  }

  private init(_ properties: [String: String]?, host: StoreHost) {
    self.properties = properties
    super.init(host: host)
  }

  /// Creates a request to the service of another queue; not in Apple's API.
  public convenience init(receiptProperties properties: [String: Any]?, queue: SKPaymentQueue) {
    self.init(properties?.mapValues { "\($0)" }, host: queue.host)
  }

  /// The properties of the request, with values as text.
  open var receiptProperties: [String: Any]? { properties }

  override var work: @Sendable (StoreHost) async throws -> Answer {
    { host in
      _ = try await host.openedSession().engine.grants()
      return { _, _ in }
    }
  }
}

/// Whether the receipt is expired; an `NSNumber` of a Bool.
public let SKReceiptPropertyIsExpired = "expired"
/// Whether the receipt is revoked; an `NSNumber` of a Bool.
public let SKReceiptPropertyIsRevoked = "revoked"
/// Whether the receipt is of a volume purchase; an `NSNumber` of a Bool.
public let SKReceiptPropertyIsVolumePurchase = "vpp"

/// Exits with status 173, which tells Apple's systems that the receipt is invalid.
public func SKTerminateForInvalidReceipt() { exit(173) }
