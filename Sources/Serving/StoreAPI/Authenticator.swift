package import HostedModel
import HostedTrust
import HostedDigests
import FoundationEssentials
import HostedShop

/// A caller that has proven that it has a key.
struct Caller: Sendable {
  let access: AccountAccess
  let scopes: Set<KeyScope>
}

/// The accounts that a caller may use.
package struct AccountAccess: Hashable, Sendable {
  /// The account of requests that name none.
  let ownAccount: AccountID
  /// Whether the caller may only use its own account; otherwise all but those of other keys.
  ///
  /// Such a caller is a device, whose identifiers must be UUIDs: it could occupy those of others.
  let isRestricted: Bool
  /// The key of the caller, which is checked again before later events; nil if it is not.
  let kid: String?

  /// A caller with a `restriction` may only use that account.
  package init(restriction: AccountID? = nil, keyAccount: AccountID, kid: String? = nil) {
    ownAccount = restriction ?? keyAccount
    isRestricted = restriction != nil
    self.kid = kid
  }

  /// Returns the account that a request names; nil and `-` name the caller's own.
  func account(_ name: String?) throws -> AccountID {
    guard let name, name != "-" else { return ownAccount }
    guard (1...256).contains(name.utf8.count), name.hasNoControls, !name.isDotSegment else {
      throw Problem.malformed(
        "the account is not a text of 1 to 256 bytes on one line, or is “.” or “..”")
    }
    let account = AccountID(rawValue: name)
    guard mayUse(account) else {
      throw Problem.forbidden(
        "The caller is not allowed to use this account",
        remedy: "Use the caller's own account, or a token for the other account")
    }
    return account
  }

  /// Whether the caller may use `account`, which is nil for a library's own account.
  func mayUse(_ account: AccountID?) -> Bool {
    guard let account else { return !isRestricted }
    return account == ownAccount || !isRestricted && !APIKey.names(account)
  }
}

/// Opaque tokens, which prove that a caller has a key.
package enum OpaqueToken {
  static let prefix = "hct_"

  /// Returns a new token with 256 random bits.
  package static func generate() -> String {
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    return prefix + Base64URL.text(of: bytes)
  }

  /// The digest of `token` in the ledger; nil if it is not a token.
  package static func digest(of token: String) throws -> Digest? {
    guard token.utf8.count <= 64, token.hasPrefix(prefix),
      Base64URL.bytes(of: token.dropFirst(prefix.count))?.count == 32
    else { return nil }
    return try Digest(of: Array(token.utf8))
  }
}

/// Authenticates callers by opaque tokens and by JWTs (RFC 7519).
///
/// The key is read from the ledger for each request, so that a revocation takes effect at once.
struct Authenticator: Sendable {
  let ledger: Ledger
  /// The `aud` of JWTs.
  let audience: String

  /// The maximum difference between the clocks of a caller and of the server, in seconds.
  private static let leeway: Int64 = 60
  /// The maximum time in seconds until a JWT expires.
  private static let lifetime: Int64 = 15 * 60
  /// The maximum time in seconds by which a JWT may be issued in the future.
  private static let earliness: Int64 = 5 * 60

  /// Returns the caller for the header Authorization; throws a problem with status 401.
  ///
  /// The status is 503 if the ledger is missing, because its keys would be refused otherwise.
  func caller(_ authorization: String?, at date: Date) throws -> Caller {
    let parts = (authorization ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw Problem.unauthorized("The request has no bearer token")
    }
    let token = String(parts[1])
    do {
      return try token.hasPrefix(OpaqueToken.prefix)
        ? caller(token: token, at: date) : caller(jwt: token, at: date)
    } catch let problem as Problem {
      guard try ledger.head() != nil else { throw Problem.ledgerUnavailable }
      throw problem
    }
  }

  private func caller(token: String, at date: Date) throws -> Caller {
    guard let digest = try OpaqueToken.digest(of: token), let key = try ledger.key(ofToken: digest),
      key.isUsable(at: date)
    else { throw Problem.unauthorized("The token is unknown, expired or revoked") }
    return Caller(
      access: AccountAccess(keyAccount: key.account, kid: key.kid), scopes: key.scopes)
  }

  // MARK: JWTs

  private func caller(jwt text: String, at date: Date) throws -> Caller {
    guard let jwt = try? JSONWebSignature(text), !jwt.hasType || jwt.isOfType("jwt"),
      let kid = jwt.keyIdentifier, kid.hasPrefix(APIKey.prefix), kid.isVisibleIdentifier
    else { throw Problem.unauthorized("The token is malformed") }
    // The public key determines the algorithm, so that the token cannot choose a weaker one.
    guard let key = try ledger.key(kid), key.isUsable(at: date),
      case .publicKey(let pem) = key.credential, let publicKey = PublicKey(pem: pem),
      let claims = try? jwt.claims(verifiedBy: publicKey, rules: .anyNumber)
    else {
      throw Problem.unauthorized("The JWT's key is unknown, expired or revoked, or did not sign it")
    }
    try check(claims, of: key, at: Int64(date.timeIntervalSince1970.rounded(.down)))
    let account = try claims["sub"].map { try Self.account($0, of: key) }
    return Caller(
      access: AccountAccess(restriction: account, keyAccount: key.account, kid: key.kid),
      scopes: account == nil ? key.scopes : key.scopes.subtracting([.admin, .publish]))
  }

  private func check(_ claims: JSONValue, of key: APIKey, at now: Int64) throws {
    guard claims["iss"]?.string?.hasSameBytes(as: key.kid) == true else {
      throw Problem.unauthorized("The claim iss of the JWT is not its kid")
    }
    guard claims["aud"]?.string?.hasSameBytes(as: audience) == true else {
      throw Problem.unauthorized("The JWT is for another server: aud is not \(audience)")
    }
    guard let expiry = Self.seconds(claims["exp"]), expiry > now - Self.leeway else {
      throw Problem.unauthorized("The JWT has expired")
    }
    guard expiry <= now + Self.lifetime else {
      throw Problem.unauthorized("The JWT expires in more than 15 minutes")
    }
    guard Self.isTime(claims["iat"], upTo: now + Self.earliness),
      Self.isTime(claims["nbf"], upTo: now + Self.leeway)
    else { throw Problem.unauthorized("The JWT is not valid yet") }
    guard let identifier = claims["jti"]?.string, (1...256).contains(identifier.utf8.count) else {
      throw Problem.unauthorized("The claim jti of the JWT is missing or invalid")
    }
  }

  /// Whether an optional claim is a time that is not after `last`.
  private static func isTime(_ claim: JSONValue?, upTo last: Int64) -> Bool {
    guard let claim else { return true }
    return seconds(claim).map { $0 <= last } ?? false
  }

  /// The time in a claim, which may have a fraction (RFC 7519, 2); nil if it is not a time.
  private static func seconds(_ claim: JSONValue?) -> Int64? {
    if case .number(let seconds)? = claim { return Int64(exactly: seconds.rounded(.down)) }
    return claim?.integer
  }

  /// Returns the account of the claim `sub`.
  ///
  /// The checks are those of accounts in requests. `-` is not an account here: a user who chooses
  /// this name must not get the account of the service.
  private static func account(_ subject: JSONValue, of key: APIKey) throws -> AccountID {
    let access = AccountAccess(keyAccount: key.account)
    guard let name = subject.string, name != "-", let account = try? access.account(name) else {
      throw Problem.unauthorized("The claim sub of the JWT is not a valid account")
    }
    return account
  }
}
