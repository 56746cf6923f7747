import HostedModel
import HostedTrust
import HostedDigests
import FoundationEssentials
import HostedTestSupport
import Testing

@Suite struct TrustedMetadataTests {
  let sample: SampleMetadata
  let now: Date
  private let past: Date

  init() throws {
    sample = try SampleMetadata()
    now = sample.now
    past = now.addingTimeInterval(-1)
  }

  /// The state of a client before the first timestamp.
  func fresh() throws -> TrustedMetadata { try TrustedMetadata(root: sample.root()) }

  // MARK: Valid metadata

  @Test func `a complete publication is trusted`() throws {
    let digest = try Digest(of: [1, 2, 3])
    let file = TargetFile(length: 3, digest: digest, custom: .object(["a": .integer(1)]))
    let trusted = try sample.trusting(sample.publication(files: ["a/b.pkg": file]))
    #expect(trusted.targets?.targets == ["a/b.pkg": file])
    #expect(trusted.timestamp?.version == 1)
    #expect(trusted.snapshot?.version == 1)
  }

  @Test func `the next publication replaces the previous one`() throws {
    var trusted = try sample.trusting(sample.publication())
    let next = try sample.publication(2)
    #expect(try trusted.update(timestamp: next.timestamp, now: now))
    #expect(trusted.snapshot == nil && trusted.targets == nil)
    try trusted.update(snapshot: next.snapshot, now: now)
    try trusted.update(targets: next.targets, now: now)
    #expect(trusted.targets?.version == 2)
  }

  @Test func `a timestamp with the trusted version changes nothing`() throws {
    let publication = try sample.publication()
    var trusted = try sample.trusting(publication)
    #expect(try !trusted.update(timestamp: publication.timestamp, now: now))
    #expect(trusted.targets != nil)
  }

  @Test func `unknown fields are allowed and signed`() throws {
    let role = try sample.rootRole().signed.replacing("x-note", with: .string("é\"\\"))
    let bytes = try sample.signer(.root).sign(role)
    _ = try TrustedMetadata(root: bytes)
    let changed = try JSONValue(parsing: bytes)
      .replacing("signed", "x-note", with: .string("e")).encoded
    #expect(code { _ = try TrustedMetadata(root: changed) } == .signatureInvalid)
  }

  @Test func `white space and the order of members do not affect signatures`() throws {
    let text = try Self.reversed(JSONValue(parsing: sample.root()))
    #expect(text.hasPrefix("{\"signed\""), "The canonical order begins with the signatures")
    let spaced = text.split(separator: ",").joined(separator: " ,\n ")
    _ = try TrustedMetadata(root: Array(spaced.utf8))
  }

  /// Returns JSON whose objects have their members in descending order.
  private static func reversed(_ value: JSONValue) -> String {
    switch value {
    case .object(let members):
      let texts = members.sorted { $0.key > $1.key }.map { name, member in
        "\(reversed(.string(name))):\(reversed(member))"
      }
      return "{\(texts.joined(separator: ","))}"
    case .array(let elements):
      return "[\(elements.map(reversed).joined(separator: ","))]"
    case .null, .bool, .integer, .number, .string:
      return String(decoding: value.encoded, as: UTF8.self)
    }
  }

  // MARK: Signatures

  @Test(arguments: RoleName.allCases)
  func `a changed signed part is refused`(_ role: RoleName) throws {
    func tampered(_ bytes: [UInt8]) throws -> [UInt8] {
      try JSONValue(parsing: bytes)
        .replacing("signed", "expires", with: .string("2099-01-01T00:00:00Z")).encoded
    }
    #expect(try refusal(of: role, bent: tampered) == .signatureInvalid)
  }

  @Test(arguments: RoleName.allCases)
  func `metadata without signatures is refused`(_ role: RoleName) throws {
    func unsigned(_ bytes: [UInt8]) throws -> [UInt8] {
      try JSONValue(parsing: bytes).replacing("signatures", with: .array([])).encoded
    }
    #expect(try refusal(of: role, bent: unsigned) == .signatureInvalid)
  }

  @Test(arguments: RoleName.allCases)
  func `a signature by another role's key is refused`(_ role: RoleName) throws {
    let other: RoleName = role == .targets ? .snapshot : .targets
    func resigned(_ bytes: [UInt8]) throws -> [UInt8] {
      let signed = try #require(try JSONValue(parsing: bytes)["signed"])
      return try sample.signer(other).sign(signed)
    }
    #expect(try refusal(of: role, bent: resigned) == .signatureInvalid)
  }

  @Test(arguments: RoleName.allCases)
  func `a signature under another key's identifier is refused`(_ role: RoleName) throws {
    let stranger = try SigningKey.generate()
    func relabeled(_ bytes: [UInt8]) throws -> [UInt8] {
      let document = try JSONValue(parsing: bytes)
      let signed = try #require(document["signed"])
      let signature = try stranger.sign(signed.canonical)
      let identifier = try #require(sample.keys[role]).publicKey.identifier
      return document.replacing(
        "signatures",
        with: .array([
          .object([
            "keyid": .string(identifier), "sig": .string(Hexadecimal.text(of: signature)),
          ])
        ])
      ).encoded
    }
    #expect(try refusal(of: role, bent: relabeled) == .signatureInvalid)
  }

  /// Returns a root whose timestamp role requires two signatures by `keys`, under these
  /// identifiers.
  private func rootDemandingTwo(_ keys: [String: SigningKey]) throws -> [UInt8] {
    let identifiers = keys.keys.sorted()
    var role = try sample.rootRole().signed
      .replacing("roles", "timestamp", "threshold", with: .integer(2))
      .replacing(
        "roles", "timestamp", "keyids", with: .array(identifiers.map(JSONValue.string)))
    for (identifier, key) in keys {
      role = role.replacing("keys", identifier, with: key.publicKey.json)
    }
    return try sample.signer(.root).sign(role)
  }

  /// Returns timestamp metadata with one signature for each pair.
  private func timestamp(signedBy pairs: [(String, SigningKey)]) throws -> [UInt8] {
    let bytes = try sample.publication().timestamp
    let document = try JSONValue(parsing: bytes)
    let message = try #require(document["signed"]).canonical
    let signatures = try pairs.map { identifier, key in
      JSONValue.object([
        "keyid": .string(identifier), "sig": .string(Hexadecimal.text(of: try key.sign(message))),
      ])
    }
    return document.replacing("signatures", with: .array(signatures)).encoded
  }

  @Test func `two signatures by different keys satisfy a threshold of two`() throws {
    let (one, two) = (try SigningKey.generate(), try SigningKey.generate())
    var trusted = try TrustedMetadata(root: rootDemandingTwo(["one": one, "two": two]))
    #expect(
      try trusted.update(timestamp: timestamp(signedBy: [("one", one), ("two", two)]), now: now))
  }

  @Test func `one key under two identifiers counts once`() throws {
    let one = try SigningKey.generate()
    var trusted = try TrustedMetadata(root: rootDemandingTwo(["one": one, "two": one]))
    let bytes = try timestamp(signedBy: [("one", one), ("two", one)])
    #expect(code { _ = try trusted.update(timestamp: bytes, now: now) } == .signatureInvalid)
  }

  // MARK: Expiry

  @Test func `an expired root is refused if there is no newer one`() throws {
    let trusted = try TrustedMetadata(root: sample.root(expires: now))
    #expect(code { try trusted.checkRootExpiry(now: now) } == .metadataExpired)
    try trusted.checkRootExpiry(now: past)
  }

  @Test func `an expired timestamp is refused`() throws {
    let publication = try sample.publication()
    var trusted = try fresh()
    let bytes = try sample.timestamp(expires: now, snapshot: publication.snapshot, 1)
    #expect(code { _ = try trusted.update(timestamp: bytes, now: now) } == .metadataExpired)
    #expect(trusted.timestamp == nil)
  }

  @Test func `a trusted timestamp that has expired since is refused`() throws {
    let publication = try sample.publication()
    var trusted = try sample.trusting(publication)
    #expect(
      code { _ = try trusted.update(timestamp: publication.timestamp, now: sample.expires) }
        == .metadataExpired)
  }

  @Test func `an expired snapshot is refused`() throws {
    let targets = try sample.targets()
    let snapshot = try sample.snapshot(expires: now, targets: targets, 1)
    var trusted = try fresh()
    _ = try trusted.update(timestamp: sample.timestamp(snapshot: snapshot, 1), now: now)
    #expect(code { try trusted.update(snapshot: snapshot, now: now) } == .metadataExpired)
    #expect(trusted.snapshot == nil)
  }

  @Test func `expired targets are refused`() throws {
    let targets = try sample.targets(expires: now)
    let snapshot = try sample.snapshot(targets: targets, 1)
    var trusted = try fresh()
    _ = try trusted.update(timestamp: sample.timestamp(snapshot: snapshot, 1), now: now)
    try trusted.update(snapshot: snapshot, now: now)
    #expect(code { try trusted.update(targets: targets, now: now) } == .metadataExpired)
    #expect(trusted.targets == nil)
  }

  @Test func `the error for expired metadata has the role, both times and the owner's task`()
    throws
  {
    let trusted = try TrustedMetadata(root: sample.root(expires: now))
    let error = #expect(throws: ContentError.self) { try trusted.checkRootExpiry(now: now) }
    #expect(error?.message.contains("root metadata expired at 2030-03-17T17:46:40Z") == true)
    #expect(error?.remedy.contains("owner must renew the metadata") == true)
  }

  // MARK: Rollback, mix and match

  @Test func `an older timestamp is refused`() throws {
    var trusted = try sample.trusting(sample.publication(2))
    let old = try sample.publication(1)
    #expect(
      code { _ = try trusted.update(timestamp: old.timestamp, now: now) } == .metadataRolledBack)
    #expect(trusted.timestamp?.version == 2)
  }

  @Test func `a newer timestamp with an older snapshot is refused`() throws {
    var trusted = try sample.trusting(sample.publication(2))
    let bytes = try sample.timestamp(3, snapshot: sample.publication(1).snapshot, 1)
    #expect(code { _ = try trusted.update(timestamp: bytes, now: now) } == .metadataRolledBack)
  }

  @Test func `a newer snapshot with older targets is refused`() throws {
    var trusted = try sample.trusting(sample.publication(2))
    let snapshot = try sample.snapshot(3, targets: sample.targets(1), 1)
    _ = try trusted.update(timestamp: sample.timestamp(3, snapshot: snapshot, 3), now: now)
    #expect(code { try trusted.update(snapshot: snapshot, now: now) } == .metadataRolledBack)
  }

  @Test func `older targets are refused after a restart too`() throws {
    let earlier = try sample.publication(2)
    var trusted = try fresh()
    try trusted.restore(timestamp: earlier.timestamp)
    try trusted.restore(snapshot: earlier.snapshot)
    let snapshot = try sample.snapshot(3, targets: sample.targets(1), 1)
    _ = try trusted.update(timestamp: sample.timestamp(3, snapshot: snapshot, 3), now: now)
    #expect(code { try trusted.update(snapshot: snapshot, now: now) } == .metadataRolledBack)
  }

  @Test func `a snapshot without a file of the previous snapshot is refused`() throws {
    let targets = try sample.targets()
    let file = try MetadataFile(version: 1, bytes: targets)
    let role = SnapshotRole(version: 1, expires: sample.expires, targets: file).signed
      .replacing("meta", "other.json", with: .object(["version": .integer(1)]))
    let snapshot = try sample.signer(.snapshot).sign(role)
    var trusted = try fresh()
    try trusted.restore(snapshot: snapshot)
    let next = try sample.publication(2)
    _ = try trusted.update(timestamp: next.timestamp, now: now)
    #expect(
      code { try trusted.update(snapshot: next.snapshot, now: now) } == .metadataRolledBack)
  }

  @Test func `a snapshot that does not match the timestamp is refused`() throws {
    var trusted = try fresh()
    _ = try trusted.update(timestamp: sample.publication(2).timestamp, now: now)
    let other = try sample.publication(1).snapshot
    #expect(code { try trusted.update(snapshot: other, now: now) } == .digestMismatch)
  }

  @Test func `targets that do not match the snapshot are refused`() throws {
    var trusted = try fresh()
    let publication = try sample.publication(2)
    _ = try trusted.update(timestamp: publication.timestamp, now: now)
    try trusted.update(snapshot: publication.snapshot, now: now)
    let other = try sample.targets(1)
    #expect(code { try trusted.update(targets: other, now: now) } == .digestMismatch)
  }

  /// An entry with only a version, without length and digest.
  private func promise(_ version: Int64) -> JSONValue { .object(["version": .integer(version)]) }

  @Test func `a snapshot with another version is refused if only a version is listed`() throws {
    let publication = try sample.publication(1)
    let file = try MetadataFile(version: 2, bytes: publication.snapshot)
    let role = TimestampRole(version: 1, expires: sample.expires, snapshot: file).signed
      .replacing("meta", "snapshot.json", with: promise(2))
    var trusted = try fresh()
    _ = try trusted.update(timestamp: sample.signer(.timestamp).sign(role), now: now)
    #expect(
      code { try trusted.update(snapshot: publication.snapshot, now: now) } == .metadataRolledBack)
  }

  @Test func `targets with another version are refused if only a version is listed`() throws {
    let targets = try sample.targets(1)
    let file = try MetadataFile(version: 2, bytes: targets)
    let role = SnapshotRole(version: 1, expires: sample.expires, targets: file).signed
      .replacing("meta", "targets.json", with: promise(2))
    let snapshot = try sample.signer(.snapshot).sign(role)
    var trusted = try fresh()
    _ = try trusted.update(timestamp: sample.timestamp(snapshot: snapshot, 1), now: now)
    try trusted.update(snapshot: snapshot, now: now)
    #expect(code { try trusted.update(targets: targets, now: now) } == .metadataRolledBack)
  }

  @Test func `snapshot and targets out of order are refused`() throws {
    let publication = try sample.publication()
    var trusted = try fresh()
    #expect(
      code { try trusted.update(snapshot: publication.snapshot, now: now) } == .inconsistent)
    #expect(code { try trusted.update(targets: publication.targets, now: now) } == .inconsistent)
  }

  // MARK: Helper

  /// Returns the error for a publication with modified metadata of `role` that is listed correctly.
  func refusal(of role: RoleName, bent: ([UInt8]) throws -> [UInt8]) throws
    -> ContentError.Code?
  {
    var targets = try sample.targets()
    if role == .targets { targets = try bent(targets) }
    var snapshot = try sample.snapshot(targets: targets, 1)
    if role == .snapshot { snapshot = try bent(snapshot) }
    var timestamp = try sample.timestamp(snapshot: snapshot, 1)
    if role == .timestamp { timestamp = try bent(timestamp) }
    var root = try sample.root()
    if role == .root { root = try bent(root) }
    return code {
      var trusted = try TrustedMetadata(root: root)
      _ = try trusted.update(timestamp: timestamp, now: now)
      try trusted.update(snapshot: snapshot, now: now)
      try trusted.update(targets: targets, now: now)
    }
  }
}
