package import HostedModel

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

/// The public keys of a store's sellers, which verify receipts: the target `receipt-keys.json`.
///
/// The entry has the content of the file in its `custom` member, so that clients do not fetch the
/// file.
package enum ReceiptKeyList {
  package static let target = "receipt-keys.json"
  private static let key = "keys"

  /// The content of the file with `keys`.
  package static func json(_ keys: [PublicKey]) -> JSONValue {
    .object([key: .array(keys.map { .string($0.pem) })])
  }

  /// The keys in the content of the file.
  ///
  /// Keys of other kinds, which a later version may list, are ignored.
  static func keys(_ json: JSONValue?) -> [PublicKey] {
    guard case .array(let texts)? = json?[key] else { return [] }
    return texts.compactMap { $0.string.flatMap { PublicKey(pem: $0) } }
  }
}

extension TrustedTargets {
  /// The public keys of the store's sellers, the earliest first; nil without a list.
  ///
  /// Blocks, because it may fetch a bin.
  package func receiptKeys() throws -> [PublicKey]? {
    let list = try list(listName(ofTarget: ReceiptKeyList.target))
    return list.role.targets[ReceiptKeyList.target].map { ReceiptKeyList.keys($0.custom) }
  }
}
