public import Foundation

/// A signed discount for a subscription.
///
/// Only stores its values. Subscriptions are not supported, so a payment with a discount fails with
/// `SKError.ineligibleForOffer`.
// Sendable because it is immutable.
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
  private let values:
    (identifier: String, key: String, nonce: UUID, signature: String, timestamp: NSNumber)

  /// Creates an empty discount, for subclasses in tests.
  public override init() { values = ("", "", UUID(), "", 0) }

  /// Creates a discount; `timestamp` is in milliseconds since 1970.
  public init(
    identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber
  ) {
    values = (identifier, keyIdentifier, nonce, signature, timestamp)
  }

  /// The identifier of the offer.
  open var identifier: String { values.identifier }
  /// The identifier of the signing key.
  open var keyIdentifier: String { values.key }
  /// A nonce, used only once.
  open var nonce: UUID { values.nonce }
  /// The signature.
  open var signature: String { values.signature }
  /// The time in milliseconds since 1970.
  open var timestamp: NSNumber { values.timestamp }
}
