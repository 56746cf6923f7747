import HostedModel

/// Fetched metadata: a role and its signatures.
struct SignedMetadata<Signed: Role>: Sendable {
  let role: Signed
  let name: MetadataName
  /// The canonical form of `role`, which is signed.
  let message: [UInt8]
  private let signatures: [(keyIdentifier: String, bytes: [UInt8])]

  /// Reads `bytes`.
  ///
  /// Do not use the content before the signatures are checked.
  init(_ bytes: [UInt8], as name: MetadataName = .top(Signed.type)) throws {
    let document: JSONValue
    do {
      document = try JSONValue(parsing: bytes, limit: Int(clamping: name.limit))
    } catch {
      throw ContentError.metadataDamaged(name, "it has \(error)")
    }
    let field = MetadataField(document, of: name)
    let signed = try field["signed"]
    self.name = name
    role = try Signed(signed: MetadataField(signed.value, of: name))
    message = signed.value.canonical
    signatures = try field["signatures"].elements(atMost: MetadataLimits.signatures).map {
      let keyIdentifier = try $0["keyid"].string(atMost: MetadataLimits.identifierLength)
      let digits = try $0["sig"].string(atMost: MetadataLimits.signatureLength)
      // A signature that is not hexadecimal text never verifies.
      return (keyIdentifier, Hexadecimal.bytes(of: digits) ?? [])
    }
    // “The keyid MUST be unique in the "signatures" array: multiple signatures with the same keyid
    // are not allowed.” Source: The Update Framework specification 1.0.34, section 4.2.1.
    guard Set(signatures.map { $0.keyIdentifier }).count == signatures.count else {
      throw ContentError.metadataDamaged(name, "it has two signatures with the same key ID")
    }
  }

  /// Checks that enough different keys have signed.
  func checkSignatures(by signers: Signers?) throws {
    guard let signers else {
      throw ContentError.metadataDamaged(.root, "it names no keys for \(name.text)")
    }
    var signed: Set<PublicKey> = []
    for signature in signatures
    where signers.required.identifiers.contains(signature.keyIdentifier) {
      // One key under two identifiers counts once.
      guard let key = signers.keys[signature.keyIdentifier], !signed.contains(key) else { continue }
      if try key.verifies(signature.bytes, of: message) { signed.insert(key) }
      if signed.count >= signers.required.threshold { return }
    }
    throw ContentError.signaturesMissing(
      name, found: signed.count, required: signers.required.threshold, by: signers.source)
  }
}
