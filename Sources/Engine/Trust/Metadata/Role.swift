package import FoundationEssentials
package import HostedModel

/// The signed part of a role's metadata.
///
/// Source: The Update Framework specification 1.0.34, section 4.
package protocol Role: Sendable {
  static var type: RoleName { get }
  /// The members that only this role has.
  static var ownMembers: Set<String> { get }
  var header: RoleHeader { get }
  /// The members in `ownMembers`.
  var members: [String: JSONValue] { get }

  /// Reads the role's members. Throws `metadataDamaged` with the first invalid one.
  init(_ header: RoleHeader, signed: MetadataField) throws
}

/// The members that all roles have, and the unknown ones.
package struct RoleHeader: Sendable {
  /// The version, 1 or more; each publication increments it.
  let version: Int64
  let expires: Date
  /// The members that this version does not know, which are preserved.
  var unknown: [String: JSONValue] = [:]
}

extension Role {
  package var version: Int64 { header.version }
  package var expires: Date { header.expires }

  /// Reads a `signed` object and checks its type.
  init(signed: MetadataField) throws {
    let type = try signed["_type"].string
    guard type == Self.type.rawValue else {
      throw ContentError.metadataDamaged(signed.role, "its type is “\(type.prefix(40))”")
    }
    let specification = try signed["spec_version"].string
    guard specification == "1" || specification.hasPrefix("1.") else {
      throw ContentError.metadataDamaged(
        signed.role, "specification version “\(specification.prefix(40))” is not 1.x")
    }
    let version = try signed["version"].integer(atLeast: 1)
    guard version < .max else {
      throw ContentError.metadataDamaged(signed.role, "its version is the maximum")
    }
    let expires = try signed["expires"].date
    let known = Self.ownMembers.union(["_type", "spec_version", "version", "expires"])
    let unknown = try signed.members { $1.value }.filter { !known.contains($0.key) }
    try self.init(
      RoleHeader(version: version, expires: expires, unknown: unknown), signed: signed)
  }

  /// The whole `signed` object.
  package var signed: JSONValue {
    let common: [String: JSONValue] = [
      "_type": .string(Self.type.rawValue),
      // Every 1.x is read.
      "spec_version": .string("1.0.34"),
      "version": .integer(version),
      "expires": .string(expires.metadataText),
    ]
    return .object(header.unknown.merging(members) { $1 }.merging(common) { $1 })
  }
}

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
    throw ContentError(
      .signatureInvalid,
      "The \(name.text) metadata has \(signed.count) of the \(signers.required.threshold) valid "
        + "signatures that \(signers.source) requires",
      remedy:
        "Check that the trusted root is this store's root. If it is, inform the store's owner",
      subject: name.fileName)
  }
}

/// Signs metadata with the keys of one role.
package struct RoleSigner: Sendable {
  private let keys: [SigningKey]

  /// Ignores duplicate keys.
  package init(keys: [SigningKey]) {
    var known: Set<PublicKey> = []
    self.keys = keys.filter { known.insert($0.publicKey).inserted }
  }

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

/// A value in metadata, whose errors name the role.
package typealias MetadataField = JSONReader<MetadataName>

extension MetadataName: JSONErrors {
  /// Returns the error `metadataDamaged` of this role.
  package func error(_ problem: JSONProblem, at steps: [JSONStep]) -> any Error {
    let path = steps.text
    let reason =
      switch problem {
      case .missing: "\(path) is missing"
      case .unknown: "\(path) has an unknown name"
      case .expected(let type): "\(path.isEmpty ? "the document" : path) is not \(type)"
      case .other(let text): "\(path) \(text)"
      }
    return ContentError.metadataDamaged(self, reason)
  }
}

extension MetadataField {
  /// Creates a reader of `value`, the metadata of `role` or its signed part.
  init(_ value: JSONValue, of role: MetadataName) { self.init(value, errors: role) }

  var role: MetadataName { errors }

  /// Returns the only member of an object that has a name in `names`.
  func onlyOne(of names: String...) throws -> (name: String, field: MetadataField) {
    let found = try names.compactMap { name in try optional(name).map { (name, $0) } }
    guard found.count == 1 else {
      throw error(.other("must have exactly one of \(names.joined(separator: " and "))"))
    }
    return found[0]
  }

  /// A time in exactly the form 2030-01-01T00:00:00Z.
  var date: Date {
    get throws {
      let text = try string
      return try read(.described("a UTC time such as 2030-01-01T00:00:00Z")) { _ in
        Date(metadataText: text)
      }
    }
  }

  var hashes: FileHashes {
    get throws {
      try read(.described("an object with a SHA-256 or SHA-512 in hexadecimal digits")) {
        FileHashes(json: $0)
      }
    }
  }
}

extension Date {
  /// Reads `yyyy-MM-dd'T'HH:mm:ssZ`; returns nil for any other form.
  package init?(metadataText text: String) {
    // Foundation accepts more forms. Formatting the result again detects them.
    guard let date = try? Date(text, strategy: .iso8601), date.metadataText == text else {
      return nil
    }
    self = date
  }

  /// The time in the form of metadata: whole seconds, UTC.
  package var metadataText: String { formatted(.iso8601) }
}
