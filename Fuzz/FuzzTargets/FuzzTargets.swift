import HostedModel
import HostedTrust
import FoundationEssentials

/// The fuzz targets: each accepts any bytes, and must neither crash nor break its rules.
///
/// `Scripts/fuzz` runs them with libFuzzer; the tests run them on the files of `Fuzz/corpus`.
package enum FuzzTarget: String, CaseIterable, Sendable {
  /// JSON, its canonical form, and the metadata of each role.
  case metadata
  /// Receipts in compact form.
  case receipt
  /// The index of a package.
  case index
  /// Packages of every format, examined and unpacked.
  case package
  /// The payload of a product archive: gzip, pbzx or cpio.
  case payload
  /// A xar's table of contents, and a property list: the documents in XML.
  case table
  /// HTTP requests and responses, and the fault script of a server.
  case web
  /// Server responses about apps: feeds, look-ups, versions, catalogs.
  case apps
  /// JSON of a store: products.
  case records

  /// Runs the target on `bytes`; returns a broken rule as a sentence.
  package func feed(_ bytes: [UInt8]) -> String? {
    switch self {
    case .metadata: Self.metadata(bytes)
    case .receipt: Self.receipt(bytes)
    case .index: Self.index(bytes)
    case .package: Self.package(bytes)
    case .payload: Self.payload(bytes)
    case .table: Self.table(bytes)
    case .web: Self.web(bytes)
    case .apps: Self.apps(bytes)
    case .records: Self.records(bytes)
    }
  }

  private static func metadata(_ bytes: [UInt8]) -> String? {
    guard let value = try? JSONValue(parsing: bytes) else {
      return accepts(bytes) ? "Accepted metadata is not JSON" : nil
    }
    guard (try? JSONValue(parsing: value.encoded)) == value else {
      return "The encoded value differs from the decoded one"
    }
    guard let pattern = value.string else {
      _ = accepts(bytes)
      return nil
    }
    // Every text is also tested as a name, a pattern and a time.
    let encoded = PercentEncoding.path(pattern)
    _ = PathPattern(pattern).matches(pattern)
    _ = Date(metadataText: pattern)
    return encoded.utf8.allSatisfy { $0 < 128 } ? nil : "\(encoded) is not encoded"
  }

  /// Returns whether any role accepts `bytes`; delegated roles are parsed without signatures.
  private static func accepts(_ bytes: [UInt8]) -> Bool {
    guard var trusted = try? TrustedMetadata(root: knownRoot) else { return false }
    let root = try? TrustedMetadata(root: bytes)
    let timestamp = try? trusted.update(timestamp: bytes, now: .distantPast)
    let snapshot: Void? = try? trusted.restore(snapshot: bytes)
    let targets: TargetsRole? = try? trusted.verified(bytes)
    return root != nil || timestamp != nil || snapshot != nil || targets != nil
  }

  private static func receipt(_ bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    if let decoded = Base64URL.bytes(of: text), Base64URL.text(of: decoded) != text {
      return "Two encodings have the same value"
    }
    guard let signature = try? JSONWebSignature(text) else { return nil }
    for key in verificationKeys where (try? signature.claims(verifiedBy: key)) != nil {
      return known.contains(text) ? nil : "A receipt without a valid signature was accepted"
    }
    return nil
  }

  // Public test keys, so that a corpus can contain data signed with them. The secret bytes of the
  // Ed25519 key are 1 to 32.
  private static let signingKey = try? SigningKey(
    pem: Array(
      """
      -----BEGIN PRIVATE KEY-----
      MC4CAQAwBQYDK2VwBCIEIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g
      -----END PRIVATE KEY-----

      """.utf8))
  private static let verificationKeys: [PublicKey] =
    [signingKey?.publicKey, (try? SigningKey.generate(.ecdsaP256))?.publicKey].compactMap { $0 }

  /// A root with one test key.
  package static let knownRoot: [UInt8] = {
    guard let key = signingKey else { return [] }
    let expires = Date(timeIntervalSince1970: 4_000_000_000)
    let keys = RoleName.allCases.reduce(into: [:]) { $0[$1] = [key.publicKey] }
    let root = try? RootRole(version: 1, expires: expires, keys: keys)
    return (try? root.map { try RoleSigner(keys: [key]).sign($0) }) ?? []
  }()

  /// The only validly signed receipt; Ed25519 signatures are deterministic.
  package static let known: Set<String> = {
    guard let key = signingKey else { return [] }
    let claims = JSONValue.object(["transactionIdentifier": .string("T")])
    return Set([try? JSONWebSignature.sign(claims, as: "receipt+jwt", with: key)].compactMap { $0 })
  }()
}
