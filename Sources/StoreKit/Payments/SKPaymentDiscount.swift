public import Foundation

/// A signed discount for a subscription.
///
/// Only stores its values. Subscriptions are not supported, so a payment with a discount fails with
/// `SKError.ineligibleForOffer`.
// Sendable because it is immutable.
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
  private let values: (String, String, UUID, String, NSNumber)

  /// Creates an empty discount, for subclasses in tests.
  public override init() { values = ("", "", UUID(), "", 0) }

  /// Creates a discount; `timestamp` is in milliseconds since 1970.
  public init(
    identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber
  ) {
    values = (identifier, keyIdentifier, nonce, signature, timestamp)
  }

  /// The identifier of the offer.
  open var identifier: String { values.0 }
  /// The identifier of the signing key.
  open var keyIdentifier: String { values.1 }
  /// A nonce, used only once.
  open var nonce: UUID { values.2 }
  /// The signature.
  open var signature: String { values.3 }
  /// The time in milliseconds since 1970.
  open var timestamp: NSNumber { values.4 }
}
