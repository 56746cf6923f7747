import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// The attacks in section 1.5.2 of the specification.
///
/// The attacker controls the mirror and, if the test says so, some of the keys.
@Suite struct AttackTests: ClientTests {
  let fixture: ClientFixture

  init() throws { fixture = try ClientFixture() }

  /// Refreshes a new client and returns the error code.
  private func refusal() -> ContentError.Code? {
    code { _ = try client().refresh(initialRoot: sample.root()) }
  }

  /// Makes the client trust `version` of a store with the target `book`.
  private func trusting(_ version: Int64) throws {
    let file = try SampleRepository.file("version \(version)")
    store.put(try sample.publication(version, files: ["book": file]).files)
    #expect(refusal() == nil)
  }

  /// The version that the client trusts at the end.
  private func believed() throws -> Int64? { try client().cached()?.version }

  @Test(arguments: RoleName.allCases.dropFirst())
  func `arbitrary installation: metadata signed with a key of the attacker's`(role: RoleName) throws
  {
    try trusting(1)
    let file = try SampleRepository.file("evil")
    let hostile = try sample.rotating(role).publication(2, files: ["book": file])
    store.put(hostile.files)
    #expect(refusal() == .signatureInvalid)
    #expect(try believed() == 1)
  }

  @Test func `arbitrary installation: a target with different bytes`() throws {
    let file = try SampleRepository.file("good")
    store.put(try sample.publication(1, files: ["a/book": file]).files)
    let targets = try client().refresh(initialRoot: sample.root())
    store.put([targets.path(of: "a/book", file): Array("evil".utf8)])
    #expect(code { _ = try targets.fetchTarget("a/book") } == .digestMismatch)
  }

  @Test func `wrong software: a valid target under another target's name`() throws {
    let (good, other) = (try SampleRepository.file("good"), try SampleRepository.file("other"))
    store.put(try sample.publication(1, files: ["good": good, "other": other]).files)
    let targets = try client().refresh(initialRoot: sample.root())
    store.put([targets.path(of: "good", good): Array("other".utf8)])
    #expect(code { _ = try targets.fetchTarget("good") } == .digestMismatch)
  }

  @Test func `endless data: an endless file, for each file of a refresh`() throws {
    let endless = [UInt8](repeating: UInt8(ascii: " "), count: 65 << 20)
    let good = try sample.publication()
    for (path, expected) in [
      ("metadata/2.root.json", ContentError.Code.metadataDamaged),
      ("metadata/timestamp.json", .metadataDamaged), ("metadata/1.snapshot.json", .digestMismatch),
      ("metadata/1.targets.json", .digestMismatch),
    ] {
      store.put(good.files)
      store.put([path: endless])
      #expect(refusal() == expected, "\(path)")
      store.remove(path)
    }
    let file = try SampleRepository.file("good")
    store.put(try sample.publication(2, files: ["book": file]).files)
    let targets = try client().refresh(initialRoot: sample.root())
    store.put([targets.path(of: "book", file): endless])
    #expect(code { _ = try targets.fetchTarget("book") } == .digestMismatch)
  }

  @Test func `endless data: a snapshot and targets without a listed length`() throws {
    let publication = try sample.publication()
    func promise(_ role: JSONValue, _ file: String) -> JSONValue {
      role.replacing("meta", file, with: .object(["version": .integer(1)]))
    }
    let file = try MetadataFile(version: 1, bytes: publication.targets)
    let timestamp = TimestampRole(version: 1, expires: sample.expires, snapshot: file)
    store.put([
      "metadata/timestamp.json": try sample.signer(.timestamp).sign(
        promise(timestamp.signed, "snapshot.json")),
      "metadata/1.snapshot.json": [UInt8](repeating: 32, count: 3 << 20),
    ])
    #expect(refusal() == .metadataDamaged)
  }

  @Test func `rollback: an older timestamp, snapshot and targets with valid signatures`() throws {
    try trusting(3)
    store.put(try sample.publication(2).files)
    #expect(refusal() == .metadataRolledBack)
    let targets = try sample.targets(2)
    let snapshot = try sample.snapshot(4, targets: targets, 2)
    store.put([
      "metadata/timestamp.json": try sample.timestamp(4, snapshot: snapshot, 4),
      "metadata/4.snapshot.json": snapshot, "metadata/2.targets.json": targets,
    ])
    #expect(refusal() == .metadataRolledBack)
    #expect(try believed() == 3)
  }

  @Test func `fast-forward: huge versions signed with stolen keys are discarded with these keys`()
    throws
  {
    try trusting(5)
    // The attacker has the three online keys. After the rotation, the store continues its versions.
    store.put(try sample.publication(.max).files)
    #expect(refusal() == .metadataDamaged)
    store.put(try sample.publication(.max - 1).files)
    #expect(refusal() == nil)
    let next = try sample.rotating(.timestamp, .snapshot, .targets)
    store.put(["metadata/2.root.json": try next.root(2, alsoSignedBy: sample)])
    let file = try SampleRepository.file("version 6")
    store.put(try next.publication(6, files: ["book": file]).files)
    #expect(refusal() == nil)
    #expect(try believed() == 6)
    // The stolen keys are not accepted any more.
    store.put(try sample.publication(.max - 1).files)
    #expect(refusal() == .signatureInvalid)
  }

  @Test func `indefinite freeze: a mirror that never changes, and one that stops`()
    throws
  {
    try trusting(1)
    clock.advance(by: 999)
    #expect(refusal() == nil)
    clock.advance(by: 1)
    #expect(refusal() == .metadataExpired)
    store.remove("metadata/timestamp.json")
    #expect(refusal() != nil)
  }

  @Test func `freeze of a running process: metadata in memory expires too`() throws {
    let targets = try sample.targets(1, expires: sample.now.addingTimeInterval(100))
    let snapshot = try sample.snapshot(targets: targets, 1)
    store.put([
      "metadata/timestamp.json": try sample.timestamp(snapshot: snapshot, 1),
      "metadata/1.snapshot.json": snapshot, "metadata/1.targets.json": targets,
    ])
    let client = try client()
    _ = try client.refresh(initialRoot: sample.root())
    clock.advance(by: 99)
    #expect(code { _ = try client.refresh(initialRoot: nil) } == nil)
    clock.advance(by: 1)
    #expect(code { _ = try client.refresh(initialRoot: nil) } == .metadataExpired)
  }

  @Test func `mix-and-match: files of two publications with valid signatures`() throws {
    let (old, new) = (try sample.publication(1), try sample.publication(2))
    for (path, bytes) in [
      ("metadata/2.snapshot.json", old.snapshot), ("metadata/2.targets.json", old.targets),
    ] {
      store.put(new.files)
      store.put([path: bytes])
      #expect(refusal() == .digestMismatch, "\(path)")
    }
  }

  @Test(arguments: ["timestamp.json", "2.snapshot.json", "2.targets.json"])
  func `a mirror that withholds a file does not affect trusted metadata`(_ name: String) throws {
    try trusting(1)
    store.put(try sample.publication(2).files)
    store.remove("metadata/\(name)")
    #expect(refusal() == .storeMissing)
    #expect(try believed() == 1)
  }

  @Test func `key compromise below the threshold: one of two stolen targets keys`() throws {
    let (one, two) = (try SigningKey.generate(), try SigningKey.generate())
    let role = try RootRole(
      version: 1, expires: sample.expires,
      keys: [
        .root: [#require(sample.keys[.root]).publicKey], .targets: [one.publicKey, two.publicKey],
        .snapshot: [#require(sample.keys[.snapshot]).publicKey],
        .timestamp: [#require(sample.keys[.timestamp]).publicKey],
      ], thresholds: [.targets: 2])
    let root = try sample.signer(.root).sign(role)
    func publish(_ version: Int64, signedBy keys: [SigningKey]) throws {
      let targets = try RoleSigner(keys: keys).sign(
        TargetsRole(version: version, expires: sample.expires, targets: [:]))
      let snapshot = try sample.snapshot(version, targets: targets, version)
      store.put([
        "metadata/timestamp.json": try sample.timestamp(version, snapshot: snapshot, version),
        "metadata/\(version).snapshot.json": snapshot,
        "metadata/\(version).targets.json": targets,
      ])
    }
    try publish(1, signedBy: [one, two])
    #expect(try client().refresh(initialRoot: root).version == 1)
    for (version, key) in [(Int64(2), one), (3, two)] {
      try publish(version, signedBy: [key])
      #expect(code { _ = try client().refresh(initialRoot: root) } == .signatureInvalid)
    }
    try publish(4, signedBy: [two, one])
    #expect(try client().refresh(initialRoot: root).version == 4)
  }

  @Test func `key compromise: a root signed with one of two required root keys`() throws {
    let (one, two) = (try SigningKey.generate(), try SigningKey.generate())
    let online = sample.keys.filter { $0.key != .root }.mapValues { [$0.publicKey] }
    func root(_ version: Int64, _ keys: [SigningKey], signedBy signers: [SigningKey]) throws
      -> [UInt8]
    {
      try RoleSigner(keys: signers).sign(
        RootRole(
          version: version, expires: sample.expires,
          keys: online.merging([.root: keys.map(\.publicKey)]) { $1 }, thresholds: [.root: 2]))
    }
    let first = try root(1, [one, two], signedBy: [one, two])
    store.put(try sample.publication().files)
    let thief = try SigningKey.generate()
    store.put(["metadata/2.root.json": try root(2, [one, thief], signedBy: [one, thief])])
    #expect(code { _ = try client().refresh(initialRoot: first) } == .signatureInvalid)
    store.put(["metadata/2.root.json": try root(2, [one, thief], signedBy: [one, two, thief])])
    #expect(try client().refresh(initialRoot: first).version == 1)
  }

  @Test(.slow) func `a refresh follows at most 256 roots, and the next one continues`() throws {
    var files: [String: [UInt8]] = [:]
    for version in Int64(2)...300 {
      files["metadata/\(version).root.json"] = try sample.root(version)
    }
    store.put(files)
    store.put(try sample.publication().files)
    _ = try client().refresh(initialRoot: sample.root())
    #expect(store.takeFetched().filter { $0.hasSuffix(".root.json") }.count == 256)
    _ = try client().refresh(initialRoot: nil)
    #expect(store.takeFetched().filter { $0.hasSuffix(".root.json") }.count == 44)
  }

  @Test func `more signatures, keys or delegations than the limits are refused`() throws {
    let signature = JSONValue.object(["keyid": .string("a"), "sig": .string("00")])
    let many = try JSONValue(parsing: sample.root())
      .replacing("signatures", with: .array(Array(repeating: signature, count: 1025)))
    #expect(code { _ = try TrustedMetadata(root: many.encoded) } == .metadataDamaged)
    let key = try SigningKey.generate().publicKey.json
    let keys = (0...1024).reduce(into: [String: JSONValue]()) { $0["\($1)"] = key }
    let role = try sample.rootRole().signed.replacing("keys", with: .object(keys))
    let crowded = try sample.signer(.root).sign(role)
    #expect(code { _ = try TrustedMetadata(root: crowded) } == .metadataDamaged)
    let long = try sample.publication(
      files: [String(repeating: "a", count: 4097): SampleRepository.file("x")])
    store.put(long.files)
    #expect(refusal() == .metadataDamaged)
  }
}
