import HostedModel
import HostedTrust
import Foundation
import Testing

extension Tool {
  /// Adds a public key to the data folder, and returns its `kid`.
  func addKey(pem: String, scopes: String = "read,purchase") throws -> String {
    try write(pem, to: "service.pub.pem")
    let result = try succeed([
      "store-server", "key", "add", "--data", "data", "--scopes", scopes, "--public-key",
      "service.pub.pem", "--json",
    ]).json()
    #expect(result["token"] == nil)
    return try #require(result["kid"] as? String)
  }
}

/// A service that signs its JWTs with an Ed25519 key.
struct JWTService {
  let key: SigningKey
  let kid: String
  /// The audience of its JWTs.
  private let origin: String

  /// Adds a key to the data folder of a server.
  init(_ tool: Tool, for server: SellingProcess) throws {
    key = try SigningKey.generate(.ed25519)
    kid = try tool.addKey(pem: key.publicKey.pem)
    origin = String(server.url.dropLast())
  }

  /// Now, in seconds since 1970.
  var now: Int64 { Int64(Date().timeIntervalSince1970) }

  /// Returns a JWT with other members of the header and other claims; null removes one.
  ///
  /// `sign` replaces the signature of the message.
  func jwt(
    header: [String: JSONValue] = [:], _ claims: [String: JSONValue] = [:],
    sign: (([UInt8]) throws -> [UInt8])? = nil
  ) throws -> String {
    let ownHeader: [String: JSONValue] = [
      "alg": .string("EdDSA"), "typ": .string("JWT"), "kid": .string(kid),
    ]
    let ownClaims: [String: JSONValue] = [
      "iss": .string(kid), "aud": .string(origin), "exp": .integer(now + 600),
      "iat": .integer(now), "jti": .string("1"),
    ]
    let message = "\(Self.part(ownHeader, header)).\(Self.part(ownClaims, claims))"
    let signature =
      if let sign {
        try sign(Array(message.utf8))
      } else {
        try key.sign(Array(message.utf8))
      }
    return "\(message).\(Base64URL.text(of: signature))"
  }

  private static func part(_ own: [String: JSONValue], _ changes: [String: JSONValue]) -> String {
    let members = own.merging(changes) { $1 }.filter { $0.value != .null }
    return Base64URL.text(of: JSONValue.object(members).encoded)
  }
}
