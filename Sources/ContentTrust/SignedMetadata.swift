import ContentModel

/// Metadata as it was fetched: a role with the signatures that stand under it.
struct SignedMetadata<Signed: Role> {
  let role: Signed
  private let message: [UInt8]
  private let signatures: [(keyIdentifier: String, bytes: [UInt8])]

  /// Reads `bytes`; nothing of it may be relied on before its signatures are checked.
  init(_ bytes: [UInt8]) throws {
    let document: JSONValue
    do {
      document = try JSONValue(parsing: bytes)
    } catch {
      throw ContentError.metadataDamaged(Signed.name, "it has \(error)")
    }
    let field = MetadataField(role: Signed.name, path: "", value: document)
    let signed = try field["signed"]
    role = try Signed(signed: MetadataField(role: Signed.name, path: "", value: signed.value))
    message = signed.value.canonical
    signatures = try field["signatures"].elements.map {
      // A signature that is no hexadecimal text is one that verifies nothing.
      (try $0["keyid"].string, Hexadecimal.bytes(of: try $0["sig"].string) ?? [])
    }
  }

  /// Checks that as many different keys have signed as `root` demands of the role.
  func checkSignatures(by root: RootRole) throws {
    guard let demanded = root.roles[Signed.name] else {
      throw ContentError.metadataDamaged(.root, "it names no keys for \(Signed.name.rawValue)")
    }
    var signers: Set<PublicKey> = []
    for signature in signatures where demanded.identifiers.contains(signature.keyIdentifier) {
      // One key under two identifiers, or with two signatures, counts once.
      guard let key = root.keys[signature.keyIdentifier], !signers.contains(key) else { continue }
      if try key.verifies(signature.bytes, of: message) { signers.insert(key) }
      if signers.count >= demanded.threshold { return }
    }
    throw ContentError.signaturesMissing(
      Signed.name, found: signers.count, demanded: demanded.threshold, root: root.version)
  }
}

/// Signs metadata with the keys of one role.
package struct RoleSigner: Sendable {
  private let keys: [SigningKey]

  /// Creates a signer; each key gives one signature.
  package init(keys: [SigningKey]) { self.keys = keys }

  /// The role's metadata as it is published.
  package func sign(_ role: some Role) throws -> [UInt8] { try sign(role.signed) }

  /// Any `signed` object as it is published; for members that no role knows.
  package func sign(_ signed: JSONValue) throws -> [UInt8] {
    let message = signed.canonical
    let signatures = try keys.map { key in
      JSONValue.object([
        "keyid": .string(try key.publicKey.identifier),
        "sig": .string(Hexadecimal.text(of: try key.sign(message))),
      ])
    }
    return JSONValue.object(["signatures": .array(signatures), "signed": signed]).encoded
  }
}
