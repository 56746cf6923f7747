package import HostedModel

/// The public keys of a store's sellers, which verify receipts: the target `receipt-keys.json`.
///
/// The entry has the content of the file in its `custom` member, so that clients do not fetch the
/// file.
package enum ReceiptKeyList {
  /// The name of the target.
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
