import HostedModel
import HostedTrust
import FoundationEssentials
import HostedTestSupport
import Testing

/// Damaged metadata, and new roots.
extension TrustedMetadataTests {
  // MARK: Format

  @Test func `truncated snapshot and targets are refused because of their length`() throws {
    let publication = try sample.publication()
    var trusted = try fresh()
    _ = try trusted.update(timestamp: publication.timestamp, now: now)
    let short = Array(publication.snapshot.dropLast())
    #expect(code { try trusted.update(snapshot: short, now: now) } == .digestMismatch)
    try trusted.update(snapshot: publication.snapshot, now: now)
    let targets = Array(publication.targets.dropLast())
    #expect(code { try trusted.update(targets: targets, now: now) } == .digestMismatch)
  }

  @Test func `a timestamp or root truncated at any byte is refused`() throws {
    let timestamp = try sample.publication().timestamp
    var trusted = try fresh()
    for count in stride(from: 0, to: timestamp.count, by: 7) {
      let short = Array(timestamp.prefix(count))
      #expect(code { _ = try trusted.update(timestamp: short, now: now) } == .metadataDamaged)
    }
    let root = try sample.root()
    let short = Array(root.dropLast(2))
    #expect(code { _ = try TrustedMetadata(root: short) } == .metadataDamaged)
  }

  @Test(arguments: RoleName.allCases)
  func `metadata of another role is refused even if its key has signed it`(_ role: RoleName) throws
  {
    func retyped(_ bytes: [UInt8]) throws -> [UInt8] {
      let type: RoleName = role == .targets ? .snapshot : .targets
      let signed = try #require(try JSONValue(parsing: bytes)["signed"])
      return try sample.signer(role).sign(
        signed.replacing("_type", with: .string(type.rawValue)))
    }
    #expect(try refusal(of: role, bent: retyped) == .metadataDamaged)
  }

  @Test(
    arguments: [
      ("version", JSONValue.integer(0)), ("version", .string("1")), ("version", nil),
      ("expires", .string("2099-01-01")), ("expires", .string("2099-01-01T00:00:00+00:00")),
      ("expires", .string("2099-02-30T00:00:00Z")), ("expires", .string("2099-01-01T00:00:00.5Z")),
      ("expires", .integer(1)), ("expires", nil), ("spec_version", .string("2.0.0")),
      ("spec_version", .string("10.0")), ("spec_version", nil), ("meta", .array([])), ("meta", nil),
      ("meta", .object([:])), ("_type", nil),
    ] as [(String, JSONValue?)])
  func `a timestamp with an invalid member is refused even if its key has signed it`(
    _ member: String, _ value: JSONValue?
  ) throws {
    let bytes = try sample.publication().timestamp
    let signed = try #require(try JSONValue(parsing: bytes)["signed"])
    let bent = try sample.signer(.timestamp).sign(signed.replacing(member, with: value))
    var trusted = try fresh()
    #expect(code { _ = try trusted.update(timestamp: bent, now: now) } == .metadataDamaged)
  }

  @Test func `a root with a threshold of zero or a duplicate key is refused`() throws {
    let role = try sample.rootRole().signed
    let zero = try sample.signer(.root).sign(
      role.replacing("roles", "targets", "threshold", with: .integer(0)))
    #expect(code { _ = try TrustedMetadata(root: zero) } == .metadataDamaged)
    let twice = try sample.signer(.root).sign(
      role.replacing(
        "roles", "targets", "keyids", with: .array([.string("a"), .string("a")])))
    #expect(code { _ = try TrustedMetadata(root: twice) } == .metadataDamaged)
  }

  // MARK: Root rotation

  @Test func `a root signed by the old and the new key replaces the old root`() throws {
    let next = try sample.rotating(.root)
    var trusted = try fresh()
    #expect(try !trusted.update(root: next.root(2, alsoSignedBy: sample)))
    #expect(trusted.root.version == 2)
  }

  @Test func `a root signed only by the new key is refused`() throws {
    let next = try sample.rotating(.root)
    var trusted = try fresh()
    let bytes = try next.root(2)
    #expect(code { try trusted.update(root: bytes) } == .signatureInvalid)
    #expect(trusted.root.version == 1)
  }

  @Test func `a root signed only by the old key is refused`() throws {
    let next = try sample.rotating(.root)
    var trusted = try fresh()
    let bytes = try sample.signer(.root).sign(next.rootRole(2))
    #expect(code { try trusted.update(root: bytes) } == .signatureInvalid)
  }

  @Test func `a root that skips or repeats a version is refused`() throws {
    var trusted = try fresh()
    let (same, skipped) = (try sample.root(1), try sample.root(3))
    #expect(code { try trusted.update(root: same) } == .metadataRolledBack)
    #expect(code { try trusted.update(root: skipped) } == .metadataDamaged)
  }

  @Test func `metadata signed with the old key is refused after a rotation`() throws {
    let next = try sample.rotating(.timestamp)
    var trusted = try fresh()
    try trusted.update(root: next.root(2))
    let old = try sample.publication().timestamp
    #expect(code { _ = try trusted.update(timestamp: old, now: now) } == .signatureInvalid)
    #expect(try trusted.update(timestamp: next.publication().timestamp, now: now))
  }

  @Test(arguments: [RoleName.timestamp, .snapshot])
  func `a new key allows versions below those that an attacker has signed`(
    _ role: RoleName
  ) throws {
    var trusted = try sample.trusting(sample.publication(1_000_000))
    let next = try sample.rotating(role)
    #expect(try trusted.update(root: next.root(2)))
    let publication = try next.publication(2)
    #expect(try trusted.update(timestamp: publication.timestamp, now: now))
    try trusted.update(snapshot: publication.snapshot, now: now)
    try trusted.update(targets: publication.targets, now: now)
    #expect(trusted.targets?.version == 2)
  }
}
