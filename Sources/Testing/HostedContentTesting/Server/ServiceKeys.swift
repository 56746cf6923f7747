import ContentModel
import HostedContent
import StoreAPI
import StoreLedger

/// The keys of the services that use a server.
struct ServiceKeys: Sendable {
  let ledger: Ledger
  let session: StoreSession

  typealias Scopes = Set<StoreServerSession.Scope>

  /// Returns a new token, and the own account of its service.
  func addToken(_ scopes: Scopes) throws -> (token: String, account: String) {
    let token = OpaqueToken.generate()
    return (token, try add(.token(Self.digest(of: token)), scopes))
  }

  /// Revokes the key of a token.
  func revoke(_ token: String) throws {
    let key = try ledger.key(ofToken: Self.digest(of: token))
    guard let key, try ledger.revokeKey(key.kid, at: session.clock.now) else {
      throw ContentError(
        .usage, "The token is unknown or was revoked before",
        remedy: "Revoke tokens that this server has created, once")
    }
  }

  /// Adds a public key; returns its identifier, which is also the own account of its service.
  func add(publicKey pem: String, _ scopes: Scopes) throws -> String {
    guard let key = try? ReceiptVerificationKey(pem: pem) else {
      throw ContentError(
        .keyUnusable, "The text is not a public key of type Ed25519 or ECDSA P-256 in PEM form",
        remedy: "Use the public key of the key pair that signs the JWTs")
    }
    return try add(.publicKey(pem: key.pem), scopes)
  }

  private func add(_ credential: APIKey.Credential, _ scopes: Scopes) throws -> String {
    let kid = "\(APIKey.prefix)\(session.nextNumber())"
    _ = try ledger.add(
      APIKey(
        kid: kid, account: kid, credential,
        scopes: Set(scopes.compactMap { KeyScope(rawValue: $0.rawValue) }),
        created: session.clock.now))
    return kid
  }

  private static func digest(of token: String) throws -> Digest {
    guard let digest = try OpaqueToken.digest(of: token) else {
      throw ContentError(
        .usage, "The text is not a token of a store server",
        remedy: "Use a token that this server has created")
    }
    return digest
  }
}
