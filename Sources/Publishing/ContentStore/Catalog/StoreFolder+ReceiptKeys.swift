import ContentModel
import ContentTrust
public import FoundationEssentials

/// The public keys of the store's sellers, with which queues verify receipts.
extension StoreFolder {
  /// Lists public keys, in PEM form, with the earlier ones; returns all listed keys.
  ///
  /// A queue with a `service` then refuses purchases whose receipts these keys have not signed.
  /// List a new key at least a minute before a seller uses it. Receipts of earlier keys stay valid
  /// while their keys are listed. After a theft, use `replacing`: only `keys` are listed then.
  /// Adding a listed key again writes a lost file. Throws `usage` for a text that is not a key of
  /// type Ed25519 or ECDSA P-256.
  @discardableResult
  public func addReceiptKeys(_ keys: [String], replacing: Bool = false, now: Date = Date()) throws
    -> [String]
  {
    let new = try keys.enumerated().map { number, text in
      guard let key = PublicKey(pem: text), key.kind.signsReceipts else {
        throw ContentError(
          .usage,
          "Key \(number + 1) is not a public key of type Ed25519 or ECDSA P-256 in PEM form",
          remedy: "Use the seller's public key, such as receipt-key.pub.pem of a store server")
      }
      return key
    }
    return try changing(now) { draft, _ in
      try draft.listReceiptKeys(new, replacing: replacing).map(\.pem)
    }
  }

  /// The listed public keys in PEM form, the earliest first.
  ///
  /// Needs no signing keys.
  public func receiptKeys() throws -> [String] {
    try readMetadata().catalog.receiptKeys()?.map(\.pem) ?? []
  }
}
