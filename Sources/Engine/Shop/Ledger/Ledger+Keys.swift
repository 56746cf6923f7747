package import HostedModel
package import FoundationEssentials

/// What a key of the store server may do.
package enum KeyScope: String, Hashable, Sendable, CaseIterable {
  case read, purchase, content, report, publish, admin
}

/// A key of the store server; secrets are not stored.
package struct APIKey: Hashable, Sendable {
  package let kid: String
  /// The account of requests without an account; a rotated key keeps it.
  package let account: AccountID
  package let credential: Credential
  package let scopes: Set<KeyScope>
  package let created: Date
  package let notAfter: Date?
  package let revoked: Date?

  /// How a caller proves that it has the key.
  package enum Credential: Hashable, Sendable {
    /// The SHA-256 of an opaque token.
    case token(Digest)
    /// The public key, in PEM form, that verifies the caller's JWTs.
    case publicKey(pem: String)
  }

  package init(
    kid: String, account: AccountID, _ credential: Credential, scopes: Set<KeyScope>, created: Date,
    notAfter: Date? = nil, revoked: Date? = nil
  ) {
    self.kid = kid
    self.account = account
    self.credential = credential
    self.scopes = scopes
    self.created = created
    self.notAfter = notAfter
    self.revoked = revoked
  }

  /// Whether the key can be used at `date`.
  package func isUsable(at date: Date) -> Bool {
    revoked == nil && notAfter.map { date < $0 } ?? true
  }
}

extension APIKey {
  /// The start of each `kid`, and of each account named after one, which requests cannot name.
  package static let prefix = "key-"

  /// Returns whether an account is named after a key.
  package static func names(_ account: AccountID) -> Bool {
    account.rawValue.beginsWithBytes(of: prefix[...])
  }
}

extension PurchaseRecord {
  /// The account as clients see it; nil for one that is named after a key.
  ///
  /// That is the own account of a service's library.
  package var namedAccount: AccountID? { account.flatMap { APIKey.names($0) ? nil : $0 } }
}

extension Ledger {
  /// Adds a key; returns false if its `kid` or its token exists.
  package func add(_ key: APIKey) throws -> Bool {
    try changesRow(LedgerStatements.keyInsertion, key.values)
  }

  /// Returns all keys, oldest first.
  package func keys() throws -> [APIKey] { try keys(LedgerStatements.keys, []) }

  package func key(_ kid: String) throws -> APIKey? {
    try keys(LedgerStatements.key, [.text(kid)]).first
  }

  package func key(ofToken digest: Digest) throws -> APIKey? {
    try keys(LedgerStatements.keyOfToken, [LedgerValue(digest)]).first
  }

  /// Revokes a key at once; returns false if it does not exist or was revoked.
  package func revokeKey(_ kid: String, at date: Date) throws -> Bool {
    try changesRow(LedgerStatements.keyRevocation, [.text(kid), .integer(date.milliseconds)])
  }

  /// Lets a key expire at `date`, after its successor was distributed.
  ///
  /// Returns false as `revokeKey` does.
  package func expireKey(_ kid: String, at date: Date) throws -> Bool {
    try changesRow(LedgerStatements.keyExpiry, [.text(kid), .integer(date.milliseconds)])
  }

  // MARK: Receipt keys

  /// A key with which servers of this ledger sign receipts, or did so.
  package struct ReceiptKey: Hashable, Sendable {
    /// The SHA-256 of the public key in PEM form.
    package let digest: Digest
    package let added: Date
    /// Nil while it may be used.
    package let retired: Date?
  }

  /// Returns the keys for receipts, oldest first.
  package func receiptKeys() throws -> [ReceiptKey] {
    try database.rows(LedgerStatements.receiptKeys, []) { row in
      guard let digest = Digest(bytes: row.bytes(0)) else {
        throw DamagedLedger("the digest of a receipt key is invalid")
      }
      return ReceiptKey(
        digest: digest, added: Date(milliseconds: row.integer(1)),
        retired: row.optionalInteger(2).map(Date.init(milliseconds:)))
    }
  }

  /// Lets servers sign with a key from now on.
  package func addReceiptKey(_ digest: Digest, at date: Date) throws {
    try database.write {
      try $0.run(
        LedgerStatements.receiptKeyInsertion, [LedgerValue(digest), .integer(date.milliseconds)])
    }
  }

  /// Ends the use of a key at the next start of a server; returns false if it is not in use.
  package func retireReceiptKey(_ digest: Digest, at date: Date) throws -> Bool {
    try changesRow(
      LedgerStatements.receiptKeyRetirement, [LedgerValue(digest), .integer(date.milliseconds)])
  }

  private func changesRow(_ sql: String, _ values: [LedgerValue]) throws -> Bool {
    try database.write { try $0.hasRow(sql, values) }
  }

  private func keys(_ sql: String, _ values: [LedgerValue]) throws -> [APIKey] {
    try database.rows(sql, values) { try APIKey($0) }
  }
}

extension APIKey {
  fileprivate init(_ row: any LedgerRow) throws {
    let token = row.isNull(2) ? nil : Digest(bytes: row.bytes(2)).map(Credential.token)
    guard let credential = token ?? row.optionalText(3).map({ .publicKey(pem: $0) }) else {
      throw DamagedLedger("the key \(row.text(0)) is invalid")
    }
    self.init(
      kid: row.text(0), account: AccountID(rawValue: row.text(1)), credential,
      scopes: Set(row.text(4).split(separator: ",").compactMap { KeyScope(rawValue: String($0)) }),
      created: Date(milliseconds: row.integer(5)),
      notAfter: row.optionalInteger(6).map(Date.init(milliseconds:)),
      revoked: row.optionalInteger(7).map(Date.init(milliseconds:)))
  }

  fileprivate var values: [LedgerValue] {
    let (token, pem): (LedgerValue, LedgerValue) =
      switch credential {
      case .token(let digest): (LedgerValue(digest), .null)
      case .publicKey(let pem): (.null, .text(pem))
      }
    return [
      .text(kid), .text(account.rawValue), token, pem,
      .text(scopes.map(\.rawValue).sorted().joined(separator: ",")),
      .integer(created.milliseconds), LedgerValue(notAfter?.milliseconds),
      LedgerValue(revoked?.milliseconds),
    ]
  }
}
