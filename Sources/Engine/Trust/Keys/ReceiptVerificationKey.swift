import HostedModel

/// A seller's public key for verifying receipts.
public struct ReceiptVerificationKey: Hashable, Sendable {
  package let key: PublicKey

  /// Reads a public key in PEM form; throws `keyUnusable` if it is not Ed25519 or P-256.
  public init(pem: String) throws {
    guard let key = PublicKey(pem: pem) else { throw Self.unusable }
    try self.init(key)
  }

  /// Wraps a key; throws `keyUnusable` if it is not Ed25519 or P-256.
  package init(_ key: PublicKey) throws {
    guard key.kind.signsReceipts else { throw Self.unusable }
    self.key = key
  }

  /// Wraps a key whose kind is known.
  package init(unchecked key: PublicKey) { self.key = key }

  private static var unusable: ContentError {
    ContentError(
      .keyUnusable,
      "The key is not a PEM key of type Ed25519 or ECDSA P-256 (named curve, uncompressed)",
      remedy: "Use the public key of the seller's receipt key")
  }

  /// The key in PEM form.
  public var pem: String { key.pem }
}
