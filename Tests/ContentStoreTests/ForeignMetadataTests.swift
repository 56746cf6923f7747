import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Metadata in the store's folder that the publisher's keys did not sign.
@Suite(.long) struct ForeignMetadataTests {
  private let fixture: PublisherFixture

  init() throws { fixture = try PublisherFixture() }

  private func refusal(_ body: () throws -> Void) -> ContentError? {
    #expect(throws: ContentError.self) { try body() }
  }

  @Test
  func `a planted root is refused and named, nothing is signed, and removing it solves the error`()
    throws
  {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    let root = try store.initialRoot()
    let before = try fixture.files()
    let forged = try fixture.forged(50, over: root, rootVersion: 2)
    try fixture.put(forged)
    let attacked = try fixture.files()

    let operations: [(StoreFolder) throws -> Void] = [
      { try fixture.add("b", to: $0) }, { try $0.refresh(everything: true, now: fixture.now) },
      { try $0.rotate([.timestamp], now: fixture.now) }, { _ = try $0.products() },
    ]
    for operation in operations {
      let error = refusal { try operation(fixture.open()) }
      #expect(error?.code == .signatureInvalid)
      #expect(error?.subject?.hasSuffix("store/metadata/2.root.json") == true)
      #expect(error?.message.contains("store/metadata/2.root.json") == true)
      // Restored files are not trusted more than others.
      let other = refusal { try operation(fixture.open(restored: true)) }
      #expect(other?.code == .signatureInvalid)
    }
    #expect(try fixture.files() == attacked)

    // The attacker's metadata is refused without the planted root too.
    try fixture.metadata.removeFile("2.root.json")
    let error = refusal { try fixture.add("b", to: store) }
    #expect(error?.code == .signatureInvalid)
    #expect(error?.subject?.hasSuffix("metadata/timestamp.json") == true)

    try fixture.putBack(before)
    try fixture.add("b", to: store)
    #expect(try fixture.products(trusting: root) == ["a", "b"])
  }

  @Test(arguments: [2, 7])
  func `metadata signed with a planted root's keys never reaches a client`(
    _ rootVersion: Int64
  ) throws {
    let store = try fixture.create()
    let root = try store.initialRoot()
    try fixture.put(fixture.forged(50, over: root, rootVersion: rootVersion))
    #expect(code { try fixture.add("a", to: store) } == .signatureInvalid)
    // The attacker removes the root. Metadata that the publisher had signed for it would remain.
    try fixture.metadata.removeFile("\(rootVersion).root.json")
    let trust = try TemporaryFolder()
    #expect(
      code { _ = try fixture.client(trust).refresh(initialRoot: root) } == .signatureInvalid)
  }

  @Test func `a replaced first root is refused, and is not given to clients`() throws {
    let store = try fixture.create()
    let forged = try fixture.forged(50, over: store.initialRoot(), rootVersion: 1)
    try fixture.put(forged)
    let operations: [() throws -> Void] = [
      { try fixture.add("a", to: store) }, { _ = try store.products() },
      { _ = try store.initialRoot() },
    ]
    for operation in operations {
      let error = refusal(operation)
      #expect(error?.code == .rootMismatch)
      #expect(error?.subject?.hasSuffix("metadata/1.root.json") == true)
    }
    // Without the record, only the folder itself can be checked.
    try fixture.folder.opened().rename("store.keys", to: fixture.folder.opened(), "away")
    #expect(try !store.initialRoot().isEmpty)
  }

  @Test(arguments: ["snapshot", "targets"])
  func `a changed file that signed metadata lists is refused and named`(_ role: String) throws {
    let store = try fixture.create()
    try fixture.put(["1.\(role).json": fixture.bytes("1.\(role).json") + [0x20]])
    let error = refusal { try fixture.add("a", to: store) }
    #expect(error?.code == .digestMismatch)
    #expect(error?.subject?.hasSuffix("metadata/1.\(role).json") == true)
  }

  @Test func `files with versions that do not follow have no effect`() throws {
    let store = try fixture.create()
    let strays = [
      "9223372036854775807.targets.json", "9223372036854775807.root.json",
      "9223372036854775806.root.json", "9223372036854775807.snapshot.json", "abc.root.json",
      "-1.root.json", "0.root.json", ".root.json", "99.root.json", "9.timestamp.json",
    ]
    for name in strays { try fixture.put([name: Array("garbage".utf8)]) }
    try fixture.put([
      "9223372036854775806.root.json": fixture.bytes("1.root.json"),
      "3.targets.json": fixture.bytes("1.targets.json"),
    ])
    try fixture.add("a", to: store)
    try store.refresh(everything: true, now: fixture.now)
    try store.rotate([.root, .targets], now: fixture.now)
    try fixture.add("b", to: store)
    #expect(try fixture.products(trusting: store.initialRoot()) == ["a", "b"])
  }

  @Test func `a root is not written if clients would find a later foreign root`() throws {
    let store = try fixture.create()
    try fixture.put(["3.root.json": [1]])
    try fixture.add("a", to: store)
    let error = refusal { try store.rotate([.timestamp], now: fixture.now) }
    #expect(error?.code == .storeDamaged)
    #expect(error?.subject?.hasSuffix("metadata/3.root.json") == true)
    #expect(try !fixture.names("store.keys").contains("timestamp-v2.pem"))
    #expect(try fixture.products(trusting: store.initialRoot()) == ["a"])
  }

  @Test func `a missing root is named, and restoring does not continue without it`() throws {
    let store = try fixture.create()
    try store.rotate([.snapshot], now: fixture.now)
    let root = try fixture.bytes("2.root.json")
    try fixture.metadata.removeFile("2.root.json")
    for restored in [false, true] {
      let error = refusal { try fixture.add("a", to: fixture.open(restored: restored)) }
      #expect(error?.code == .storeRolledBack)
      #expect(error?.remedy.contains("version 2 of the root") == true)
    }
    try fixture.put(["2.root.json": root])
    try fixture.add("a", to: store)
  }

  // MARK: Rotations

  /// Interrupts a rotation of lost online keys directly after it wrote the root.
  private func interruptRotation() throws {
    let keys = try FileSystem.real.directory(at: fixture.folder.path("store.keys"))
    for name in ["targets.pem", "snapshot.pem", "timestamp.pem"] { try keys.removeFile(name) }
    let error = refusal {
      try fixture.open(fileSystem: .failing(.rename, at: "timestamp.json"))
        .rotate([.targets, .snapshot, .timestamp], now: fixture.now)
    }
    #expect(error?.code == .diskFull)
  }

  @Test(arguments: [true, false])
  func `metadata signed with withdrawn keys is not accepted`(
    _ isInterrupted: Bool
  ) throws {
    let store = try fixture.create()
    let root = try store.initialRoot()
    try fixture.copy("store.keys", to: "thief.keys")
    let genuine = try fixture.files()
    let thief = StoreKeyOptions(folder: URL(filePath: fixture.folder.path("thief.keys")))
    try fixture.add("evil", to: fixture.open(thief))
    let evil = try fixture.files()
    try fixture.putBack(genuine)

    if isInterrupted {
      try interruptRotation()
    } else {
      try store.rotate([.targets, .snapshot, .timestamp], now: fixture.now)
    }
    let before = try fixture.files()
    try fixture.put(evil)
    let error = refusal { try store.refresh(everything: true, now: fixture.now) }
    #expect(error?.code == .signatureInvalid)
    #expect(error?.subject?.hasSuffix("metadata/timestamp.json") == true)

    try fixture.putBack(before)
    try store.refresh(everything: true, now: fixture.now)
    try fixture.add("a", to: store)
    #expect(try fixture.products(trusting: root) == ["a"])
  }

  // MARK: Stores without a record

  private func removeRecord() throws {
    try FileSystem.real.directory(at: fixture.folder.path("store.keys"))
      .removeFile("published.json")
  }

  @Test(arguments: [true, false])
  func `a store without a record pins the root that its own keys have signed`(_ hasRootKeys: Bool)
    throws
  {
    let store = try fixture.create()
    try store.rotate([.targets], now: fixture.now)
    try removeRecord()
    if !hasRootKeys {
      try FileSystem.real.directory(at: fixture.folder.path("store.keys")).removeTree("root")
    }
    try fixture.add("a", to: store)
    #expect(try fixture.names("store.keys").contains("published.json"))
    try fixture.put(fixture.forged(50, over: store.initialRoot(), rootVersion: 1))
    #expect(code { try fixture.add("b", to: store) } == .rootMismatch)
  }

  @Test(arguments: [true, false])
  func `without a record, a root that names the store's keys among others is not enough`(
    _ hasRootKeys: Bool
  ) throws {
    let store = try fixture.create()
    let forged = try fixture.forged(50, over: store.initialRoot(), rootVersion: 1)
    try removeRecord()
    if !hasRootKeys {
      try FileSystem.real.directory(at: fixture.folder.path("store.keys")).removeTree("root")
    }
    try fixture.put(forged)
    let error = refusal { try fixture.add("a", to: store) }
    #expect(error?.code == .signatureInvalid)
    #expect(error?.subject?.hasSuffix(hasRootKeys ? "1.root.json" : "timestamp.json") == true)
    #expect(try !fixture.names("store.keys").contains("published.json"))
  }

  @Test func `without a record, another store's keys do not pin a root`() throws {
    let store = try fixture.create()
    _ = try StoreFolder.create(at: fixture.folder.path("other"), now: fixture.now)
    let keys = StoreKeyOptions(folder: URL(filePath: fixture.folder.path("keys")))
    try fixture.copy("other.keys", to: "keys")
    try FileSystem.real.directory(at: fixture.folder.path("keys")).removeFile("published.json")
    #expect(code { try fixture.add("a", to: fixture.open(keys)) } == .keyUnusable)
    try fixture.add("a", to: store)
  }

  @Test func `without a record, an interrupted rotation is completed`() throws {
    let store = try fixture.create()
    try interruptRotation()
    try removeRecord()
    try store.refresh(now: fixture.now)
    try fixture.add("a", to: store)
    #expect(try fixture.products(trusting: store.initialRoot()) == ["a"])
  }
}
