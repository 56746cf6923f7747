public import Foundation

/// A signed discount for a subscription.
///
/// Holds its values only: the engine sells no subscriptions, so a payment that carries one fails
/// with `SKError.ineligibleForOffer`.
// Sendable because nothing of it changes.
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
  private let values: (String, String, UUID, String, NSNumber)

  /// Creates a discount of nothing, for subclasses in tests.
  public override init() { values = ("", "", UUID(), "", 0) }

  /// Creates a discount; `timestamp` is in milliseconds since 1970.
  public init(
    identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber
  ) {
    values = (identifier, keyIdentifier, nonce, signature, timestamp)
  }

  /// The offer.
  open var identifier: String { values.0 }
  /// The key that signed.
  open var keyIdentifier: String { values.1 }
  /// A value that is used once.
  open var nonce: UUID { values.2 }
  /// The signature.
  open var signature: String { values.3 }
  /// Milliseconds since 1970.
  open var timestamp: NSNumber { values.4 }
}
