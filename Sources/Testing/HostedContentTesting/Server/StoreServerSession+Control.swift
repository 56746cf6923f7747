import HostedConcurrency
public import HostedModel
import HostedDigests
import HostedContent
import HostedStoreAPI
import HostedLedger

/// Controls the server like its operator does, also while it is stopped.
extension StoreServerSession {
  // MARK: Decisions

  /// Sets the decision about purchases of `product`: the next `count`, or all for nil.
  ///
  /// Purchases without a rule are approved. A payment with `simulatesAskToBuy` always waits.
  /// Throws `usage` if `count` is less than 1.
  public func setDecision(
    _ decision: PurchaseDecision, about product: ProductIdentifier, count: Int? = nil
  ) throws {
    try decider.rules.withLock { try $0.set(Decision(decision), for: product, count: count) }
  }

  /// Adds vouchers, each for one purchase of `product`, or of any product for nil.
  ///
  /// A code that was added before does not change.
  public func addVouchers(_ codes: [String], for product: ProductIdentifier? = nil) throws {
    // Only the digests are stored.
    _ = try ledger.addVouchers(codes.map { try Digest(of: Array($0.utf8)) }, for: product)
  }

  // MARK: Changes

  /// Approves a purchase that waits for a decision or was interrupted.
  ///
  /// The queue of the buyer gets the purchase. This and the following methods throw `usage` for an
  /// unknown transaction, and if the state of the purchase does not allow the change.
  @discardableResult
  public func approve(_ transaction: TransactionID) throws -> Purchase {
    try change(transaction, .approve)
  }

  /// Declines a purchase that waits for a decision; it fails with `notEntitled`.
  @discardableResult
  public func decline(_ transaction: TransactionID, reason: String = "Declined") throws
    -> Purchase
  {
    try change(transaction, .decline(reason: reason))
  }

  /// Pays a purchase back, so that the account no longer owns it; observers are notified.
  @discardableResult
  public func refund(_ transaction: TransactionID, reason: String = "") throws -> Purchase {
    try change(transaction, .refund(reason: reason))
  }

  /// Takes a purchase back, so that the account no longer owns it; observers are notified.
  @discardableResult
  public func revoke(_ transaction: TransactionID, reason: String = "") throws -> Purchase {
    try change(transaction, .revoke(reason: reason))
  }

  /// Undoes a refund or a revocation.
  @discardableResult
  public func reverse(_ transaction: TransactionID) throws -> Purchase {
    try change(transaction, .reverse)
  }

  private func change(_ transaction: TransactionID, _ change: PurchaseChange) throws -> Purchase {
    let results = try ledger.commit(
      [.decide(transaction: transaction.rawValue, change)], at: session.clock.now)
    deliverEvents()
    switch results.first {
    case .success(let outcome)?:
      if let purchase = outcome.purchase { return Purchase(purchase) }
    case .failure(.impossible(let record))?:
      throw ContentError(
        .usage, "Cannot \(change.name) the purchase \(transaction): it is \(record.state.name)",
        remedy: "Request a change that this state allows", subject: transaction.rawValue)
    case .failure(.failed(let error))?: throw error
    case .failure(.unknownTransaction)?, .failure(.otherRequest)?, nil: break
    }
    throw ContentError(
      .usage, "The server has no purchase \(transaction)",
      remedy: "Wait until the server has answered the purchase", subject: transaction.rawValue)
  }

  // MARK: Keys

  /// Creates a token with `scopes`; payments without an account then have an account of its own.
  public func makeToken(scopes: Set<Scope>) throws -> String {
    let token = OpaqueToken.generate()
    _ = try Self.add(.token(Self.digest(of: token)), scopes, to: ledger, of: session)
    return token
  }

  /// Revokes a token at once; throws `usage` if this server has no such token, or has revoked it.
  public func revokeToken(_ token: String) throws {
    let key = try ledger.key(ofToken: Self.digest(of: token))
    guard let key, try ledger.revokeKey(key.kid, at: session.clock.now) else {
      throw ContentError(
        .usage, "The token is unknown or was revoked before",
        remedy: "Revoke tokens that this server has created, once")
    }
  }

  /// Adds a public key in PEM form that verifies JWTs; returns its `kid`.
  ///
  /// The claim `aud` of the JWTs is `url` without the slash at its end. Throws `keyUnusable` if it
  /// is not Ed25519 or P-256.
  public func addKey(pem: String, scopes: Set<Scope>) throws -> String {
    guard let key = try? ReceiptVerificationKey(pem: pem) else {
      throw ContentError(
        .keyUnusable, "The text is not a public key of type Ed25519 or ECDSA P-256 in PEM form",
        remedy: "Use the public key of the key pair that signs the JWTs")
    }
    return try Self.add(.publicKey(pem: key.pem), scopes, to: ledger, of: session)
  }

  /// Adds a key; returns its identifier, which is also the own account of its service.
  static func add(
    _ credential: APIKey.Credential, _ scopes: Set<Scope>, to ledger: Ledger,
    of session: StoreSession
  ) throws -> String {
    let kid = "\(APIKey.prefix)\(session.nextNumber())"
    _ = try ledger.add(
      APIKey(
        kid: kid, account: AccountID(rawValue: kid), credential,
        scopes: Set(scopes.compactMap { KeyScope(rawValue: $0.rawValue) }),
        created: session.clock.now))
    return kid
  }

  static func digest(of token: String) throws -> Digest {
    guard let digest = try OpaqueToken.digest(of: token) else {
      throw ContentError(
        .usage, "The text is not a token of a store server",
        remedy: "Use a token that this server has created")
    }
    return digest
  }

  // MARK: The ledger

  /// Returns all purchases of `account`, oldest first.
  ///
  /// A nil account means payments without an account, of queues with a configuration of this
  /// server.
  public func purchases(account: AccountID? = nil) throws -> [Purchase] {
    try ledger.purchases(account: account ?? ownAccount, limit: .max, all: true)
      .sorted { $0.sequence < $1.sequence }.map { Purchase($0) }
  }

  /// Returns the events of all accounts, oldest first.
  public func events() throws -> [Event] {
    try ledger.events(after: 0, limit: .max).compactMap { Event($0) }
  }
}
