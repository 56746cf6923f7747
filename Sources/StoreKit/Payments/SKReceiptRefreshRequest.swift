import Foundation
import HostedContent

/// Asks the seller what the account was granted.
///
/// There is no receipt for the whole app here, but one for each purchase, signed by the seller, in
/// `SKPaymentTransaction.transactionReceipt`. The request finishes when the seller has answered.
// Sendable because SKRequest is, and nothing of it changes.
open class SKReceiptRefreshRequest: SKRequest, @unchecked Sendable {
  private let properties: [String: String]?

  /// Creates a request without properties.
  public override init() {
    properties = nil
    super.init()
  }

  /// Creates a request; `properties` has the keys `SKReceiptProperty…`, which only tests of Apple's
  /// sandbox know, and which change nothing here.
  public init(receiptProperties properties: [String: Any]?) {
    self.properties = properties?.mapValues { "\($0)" }
    super.init()
  }

  private init(_ properties: [String: String]?, host: StoreHost) {
    self.properties = properties
    super.init(host: host)
  }

  /// Asks another queue's seller than the app's; not in Apple's API.
  public convenience init(receiptProperties properties: [String: Any]?, queue: SKPaymentQueue) {
    self.init(properties?.mapValues { "\($0)" }, host: queue.host)
  }

  /// What it was created with, values as text.
  open var receiptProperties: [String: Any]? { properties }

  override var work: @Sendable (StoreHost) async throws -> Answer {
    { host in
      _ = try await host.session().engine.grants()
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

/// Ends the process with status 173, by which Apple's systems know that the receipt is not valid.
public func SKTerminateForInvalidReceipt() { exit(173) }
