public import HostedTrust
public import FoundationEssentials

/// The public keys of the store's sellers, with which queues verify receipts.
extension StoreFolder {
  /// Lists public keys with the earlier ones; returns all listed keys.
  ///
  /// A queue with a `service` then refuses purchases whose receipts these keys have not signed.
  /// List a new key at least a minute before a seller uses it. Receipts of earlier keys stay valid
  /// while their keys are listed. After a theft, use `replacing`: only `keys` are listed then.
  /// Adding a listed key again writes a lost file.
  @discardableResult
  public func addReceiptKeys(
    _ keys: [ReceiptVerificationKey], replacing: Bool = false, now: Date = Date()
  ) throws -> [ReceiptVerificationKey] {
    try changing(now) { draft, _ in
      try draft.listReceiptKeys(keys.map(\.key), replacing: replacing)
        .map { ReceiptVerificationKey(unchecked: $0) }
    }
  }

  /// The listed public keys, the earliest first.
  ///
  /// Needs no signing keys.
  public func receiptKeys() throws -> [ReceiptVerificationKey] {
    try readMetadata().catalog.receiptKeys()?.map { ReceiptVerificationKey(unchecked: $0) } ?? []
  }
}
