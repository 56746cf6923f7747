package import HostedModel

/// Signs metadata with the keys of one role.
package struct RoleSigner: Sendable {
  private let keys: [SigningKey]

  /// Ignores duplicate keys.
  package init(keys: [SigningKey]) {
    var known: Set<PublicKey> = []
    self.keys = keys.filter { known.insert($0.publicKey).inserted }
  }

  package func adding(_ more: [SigningKey]) -> RoleSigner { RoleSigner(keys: keys + more) }

  package func adding(_ other: RoleSigner) -> RoleSigner { adding(other.keys) }

  /// Returns the signed metadata of a role, ready to publish.
  package func sign(_ role: some Role) throws -> [UInt8] { try sign(role.signed) }

  /// Returns a signed object, ready to publish; it may have members that no role knows.
  package func sign(_ signed: JSONValue) throws -> [UInt8] {
    let message = signed.canonical
    let signatures = try keys.map { key in
      JSONValue.object([
        "keyid": .string(key.publicKey.identifier),
        "sig": .string(Hexadecimal.text(of: try key.sign(message))),
      ])
    }
    return JSONValue.object(["signatures": .array(signatures), "signed": signed]).encoded
  }
}
