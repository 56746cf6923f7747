import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import Testing

/// Two signatures with the same key ID, which section 4.2.1 of the specification forbids.
@Suite struct SignatureListTests: ClientTests {
  let fixture: ClientFixture

  init() throws { fixture = try ClientFixture() }

  /// Publishes with a duplicate signature in the metadata of `role`, and returns the root.
  private func publish(repeating role: RoleName) throws -> [UInt8] {
    func bent(_ bytes: [UInt8], _ name: RoleName) throws -> [UInt8] {
      name == role ? try bytes.repeatingSignature() : bytes
    }
    let targets = try bent(sample.targets(), .targets)
    let snapshot = try bent(sample.snapshot(targets: targets, 1), .snapshot)
    let timestamp = try bent(sample.timestamp(snapshot: snapshot, 1), .timestamp)
    store.put(
      Publication(version: 1, timestamp: timestamp, snapshot: snapshot, targets: targets).files)
    return try bent(sample.root(), .root)
  }

  @Test(arguments: RoleName.allCases)
  func `metadata with two signatures under one key ID is refused, even if enough keys have signed`(
    role: RoleName
  ) throws {
    let root = try publish(repeating: role)
    #expect(
      code { _ = try client().refresh(initialRoot: root) }
        == (role == .root ? .rootInvalid : .metadataDamaged))
  }

  @Test func `an invalid second signature is refused too, and so is the next root`() throws {
    let bytes = try sample.root()
    let wrong = try bytes.repeatingSignature(as: String(repeating: "00", count: 64))
    #expect(code { _ = try TrustedMetadata(root: wrong) } == .metadataDamaged)
    store.put(try sample.publication().files)
    store.put(["metadata/2.root.json": try sample.root(2).repeatingSignature()])
    #expect(code { _ = try client().refresh(initialRoot: bytes) } == .metadataDamaged)
  }

  @Test func `a delegated role with two signatures under one key ID is refused`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    repository.roles["A"]?.files["file"] = try SampleRepository.file("x")
    repository.roles["A"]?.repeatsSignature = true
    store.put(try repository.published())
    let targets = try client().refresh(initialRoot: sample.root())
    #expect(code { _ = try targets.target("file") } == .metadataDamaged)
  }

  @Test(arguments: ["1.root.json", "timestamp.json", "1.snapshot.json", "1.targets.json"])
  func `a publisher does not continue from such metadata`(_ name: String) throws {
    let store = try StoreFolder.create(at: folder.path("store"), now: sample.now)
    let metadata = try folder.opened().directory(at: ["store", "metadata"])
    let bytes = try metadata.contents(of: name, limit: 1 << 20)
    try metadata.replaceFile(name, with: bytes.repeatingSignature())
    #expect(throws: ContentError.self) { try store.refresh(everything: true, now: sample.now) }
  }

  @Test func `a duplicate key signs once`() throws {
    let key = try #require(sample.keys[.root])
    let bytes = try RoleSigner(keys: [key, key]).sign(sample.rootRole())
    guard case .array(let signatures)? = try JSONValue(parsing: bytes)["signatures"] else {
      Issue.record("No signatures")
      return
    }
    #expect(signatures.count == 1)
  }
}

extension [UInt8] {
  /// Returns the metadata with its first signature twice.
  ///
  /// The second one is `digits` unless nil.
  func repeatingSignature(as digits: String? = nil) throws -> [UInt8] {
    let document = try JSONValue(parsing: self)
    guard case .array(let signatures)? = document["signatures"], let first = signatures.first else {
      return self
    }
    let second = digits.map { first.replacing("sig", with: .string($0)) } ?? first
    return document.replacing("signatures", with: .array(signatures + [second])).encoded
  }
}
