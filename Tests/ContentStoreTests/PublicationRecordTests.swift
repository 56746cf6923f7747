import HostedModel
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

/// Metadata that the publisher's keys have signed, but that is not the newest.
@Suite(.long) struct PublicationRecordTests {
  private let fixture: PublisherFixture

  init() throws { fixture = try PublisherFixture() }

  private func refusal(_ body: () throws -> Void) -> ContentError? {
    #expect(throws: ContentError.self) { try body() }
  }

  /// The record in a folder, as JSON.
  private func record(_ folder: String = "store.keys") throws -> JSONValue {
    let directory = try FileSystem.real.directory(at: fixture.folder.path(folder))
    return try JSONValue(parsing: directory.contents(of: "published.json", limit: 1 << 16))
  }

  private func recorded(_ role: String, _ folder: String = "store.keys") throws -> Int64? {
    try record(folder)["signed"]?[role]?["version"]?.integer
  }

  @Test func `only the owner can read the record, which has the last signed versions`() throws {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    let keys = try FileSystem.real.directory(at: fixture.folder.path("store.keys"))
    #expect(try keys.status(of: "published.json")?.permissions == 0o600)
    for role in ["targets", "snapshot", "timestamp"] { #expect(try recorded(role) == 2) }
    let root = try Digest(of: store.initialRoot()).hex
    #expect(try record()["firstRoot"]?["sha256"]?.string == root)
    #expect(try record()["signed"]?["root"]?["sha256"]?.string == root)
  }

  // MARK: Older metadata

  @Test func `a restored old timestamp is refused, and no version is signed twice`() throws {
    let store = try fixture.create()
    let root = try store.initialRoot()
    let book = ProductIdentifier("book")
    try store.publish([fixture.package("book", "1")], now: fixture.now)
    let old = try fixture.bytes("timestamp.json")
    try store.retire(book, version: ContentVersion("1"), now: fixture.now)
    let trust = try TemporaryFolder()
    _ = try fixture.client(trust).refresh(initialRoot: root)
    try fixture.put(["timestamp.json": old])
    let before = try fixture.files()

    let operations: [() throws -> Void] = [
      { try fixture.add("a", to: store) }, { try store.refresh(now: fixture.now) },
      { try store.rotate([.targets], now: fixture.now) }, { _ = try store.products() },
    ]
    for operation in operations {
      let error = refusal(operation)
      #expect(error?.code == .storeRolledBack)
      #expect(error?.subject?.hasSuffix("metadata/timestamp.json") == true)
      #expect(error?.message.contains("version 2") == true)
      #expect(error?.message.contains("version 3") == true)
    }
    #expect(try fixture.files() == before)

    // With `restored`, it continues from the restored files: the retired version is offered again.
    let restored = try fixture.open(restored: true)
    #expect(try restored.products().map(\.versions.count) == [1])
    try fixture.add("a", to: restored)
    let after = try fixture.files()
    let changed = before.filter { $0.key != "timestamp.json" && after[$0.key] != $0.value }.keys
    #expect(changed.isEmpty)
    let targets = try fixture.client(trust).refresh(initialRoot: nil)
    #expect(targets.version == 4)
    #expect(try PublisherFixture.products(targets) == ["a", "book"])
    #expect(try store.products().map(\.versions.count) == [0, 1])
    try store.retire(book, version: ContentVersion("1"), now: fixture.now)
    #expect(try fixture.client(trust).refresh(initialRoot: nil).version == 5)
  }

  @Test func `a complete backup is signed again, even if nothing else changes`() throws {
    let store = try fixture.create()
    let backup = try fixture.files()
    for product in ["a", "b"] { try fixture.add(product, to: store) }
    let trust = try TemporaryFolder()
    _ = try fixture.client(trust).refresh(initialRoot: store.initialRoot())
    try fixture.putBack(backup)
    #expect(code { try store.refresh(now: fixture.now) } == .storeRolledBack)
    let renewal = try fixture.open(restored: true).refresh(now: fixture.now)
    #expect(renewal.roles == [.targets, .snapshot, .timestamp])
    #expect(try fixture.client(trust).refresh(initialRoot: nil).version == 4)
    #expect(try store.refresh(now: fixture.now).roles.isEmpty)
    // The files are not from a backup this time, so a refresh changes nothing.
    #expect(try fixture.open(restored: true).refresh(now: fixture.now).roles.isEmpty)
  }

  @Test func `a backup from before a rotation is restored with the later roots`() throws {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    let backup = try fixture.files()
    let trust = try TemporaryFolder()
    try store.rotate([.targets, .snapshot, .timestamp], now: fixture.now)
    _ = try fixture.client(trust).refresh(initialRoot: store.initialRoot())
    let newRoot = try fixture.bytes("2.root.json")
    try fixture.putBack(backup)
    try fixture.put(["2.root.json": newRoot])
    #expect(code { try fixture.add("b", to: store) } == .signatureInvalid)
    try fixture.add("b", to: fixture.open(restored: true))
    let targets = try fixture.client(trust).refresh(initialRoot: nil)
    #expect(try PublisherFixture.products(targets) == ["a", "b"])
  }

  @Test func `two different files with one version are refused like an old file`() throws {
    let store = try fixture.create()
    try fixture.copy("store.keys", to: "other.keys")
    let before = try fixture.files()
    try fixture.add("a", to: fixture.open(keys("other.keys")))
    let others = try fixture.files()
    try fixture.putBack(before)
    try fixture.add("b", to: store)
    try fixture.putBack(others)
    let error = refusal { try fixture.add("c", to: store) }
    #expect(error?.code == .storeRolledBack)
    #expect(error?.message.contains("version 2") == true)
    try fixture.add("c", to: fixture.open(restored: true))
    #expect(try recorded("targets") == 3)
    #expect(try fixture.products(trusting: store.initialRoot()) == ["a", "c"])
  }

  // MARK: Other machines, other folders

  private func keys(_ name: String) -> StoreKeyOptions {
    StoreKeyOptions(folder: URL(filePath: fixture.folder.path(name)))
  }

  @Test func `two machines with copies of the keys publish in turn, and each notices a rollback`()
    throws
  {
    let first = try fixture.create()
    try fixture.copy("store.keys", to: "second.keys")
    let second = try fixture.open(keys("second.keys"))
    for round in 1...2 {
      try fixture.add("first\(round)", to: first)
      try fixture.add("second\(round)", to: second)
    }
    #expect(try fixture.products(trusting: first.initialRoot()).count == 4)
    #expect(try recorded("targets", "second.keys") == 5)
    #expect(try recorded("targets") == 4)
    let old = try fixture.bytes("timestamp.json")
    try fixture.add("more", to: second)
    // Nothing is due, but the other machine's signatures are recorded.
    #expect(try first.refresh(now: fixture.now).roles.isEmpty)
    #expect(try recorded("targets") == 6)
    try fixture.put(["timestamp.json": old])
    #expect(code { try fixture.add("x", to: first) } == .storeRolledBack)
    #expect(code { try fixture.add("x", to: second) } == .storeRolledBack)
  }

  /// A file system in which the keys' folder is read-only.
  private var readOnlyKeys: FileSystem {
    FileSystem { operation, path in
      let writes: [FileOperation] = [.create, .createDirectory, .write, .rename, .remove, .link]
      guard writes.contains(operation), path.contains("/store.keys/") else { return }
      throw SystemFailure(EROFS)
    }
  }

  @Test func `with read-only keys, the record is in a state folder`() throws {
    _ = try fixture.create()
    let before = try record()
    let error = refusal { try fixture.add("a", to: fixture.open(fileSystem: readOnlyKeys)) }
    #expect(error?.code == .notPermitted)
    #expect(error?.remedy.contains("state folder") == true)

    let options = StoreKeyOptions(stateFolder: URL(filePath: fixture.folder.path("deep/state")))
    let store = try fixture.open(options, fileSystem: readOnlyKeys)
    let old = try fixture.bytes("timestamp.json")
    try fixture.add("a", to: store)
    #expect(try fixture.names("deep/state") == ["lock", "published.json"])
    #expect(
      try FileSystem.real.directory(at: fixture.folder.path("deep")).status(of: "state")?
        .permissions == 0o700)
    #expect(try recorded("targets", "deep/state") == 2)
    #expect(try record() == before)
    try fixture.put(["timestamp.json": old])
    #expect(code { try fixture.add("b", to: store) } == .storeRolledBack)
    #expect(code { _ = try store.products() } == .storeRolledBack)
  }

  @Test func `an empty state folder starts with the record beside the keys`() throws {
    let store = try fixture.create()
    let old = try fixture.bytes("timestamp.json")
    try fixture.add("a", to: store)
    try fixture.put(["timestamp.json": old])
    let options = StoreKeyOptions(stateFolder: URL(filePath: fixture.folder.path("state")))
    #expect(code { try fixture.add("b", to: fixture.open(options)) } == .storeRolledBack)
  }

  @Test(arguments: ["store", "store/state", "store/metadata/../targets/x"])
  func `the record is never inside the served folder`(_ path: String) throws {
    let options = StoreKeyOptions(stateFolder: URL(filePath: fixture.folder.path(path)))
    #expect(code { _ = try fixture.create(options) } == .usage)
    _ = try fixture.create()
    #expect(code { try fixture.add("a", to: fixture.open(options)) } == .usage)
    #expect(try fixture.names("store") == ["metadata", "targets"])
  }

  @Test func `a damaged record is an error, not a missing record`() throws {
    let store = try fixture.create()
    let keys = try FileSystem.real.directory(at: fixture.folder.path("store.keys"))
    for text in ["", "{", "{}", #"{"firstRoot":{"version":1,"sha256":"00"},"signed":{}}"#] {
      try keys.replaceFile("published.json", with: Array(text.utf8))
      let error = refusal { try fixture.add("a", to: store) }
      #expect(error?.code == .storeDamaged)
      #expect(error?.subject?.hasSuffix("store.keys/published.json") == true)
    }
  }

  @Test func `a store without its timestamp is not created again with its keys`() throws {
    _ = try fixture.create()
    let files = try fixture.files()
    try fixture.metadata.removeFile("timestamp.json")
    let error = refusal { _ = try fixture.create() }
    #expect(error?.code == .usage)
    #expect(error?.message.contains("store.keys") == true)
    try fixture.putBack(files)
    try fixture.add("a", to: fixture.open())
  }

  @Test func `no version follows the highest accepted version`() throws {
    let store = try fixture.create()
    let keys = try FileSystem.real.directory(at: fixture.folder.path("store.keys"))
    let text = String(
      decoding: try keys.contents(of: "published.json", limit: 1 << 16), as: UTF8.self)
    let reserved = #""reserved":{"targets":9223372036854775807}"#
    try keys.replaceFile(
      "published.json", with: Array(text.replacing(#""reserved":{}"#, with: reserved).utf8))
    let before = try fixture.files()
    #expect(code { try fixture.add("a", to: store) } == .storeDamaged)
    #expect(try fixture.files() == before)
  }

  // MARK: Crashes

  /// Publishes with a failure at each step in turn.
  ///
  /// `recover` gets the old timestamp and opens the store for the next attempt.
  private func publishWithFaults(_ recover: (_ before: [UInt8]) throws -> StoreFolder) throws
    -> Int
  {
    _ = try fixture.create()
    var (step, fired) = (0, true)
    var visible: [String: [UInt8]] = [:]
    // A version that a client may have seen must not change.
    func look() throws {
      let trust = try TemporaryFolder()
      _ = try fixture.client(trust).refresh(initialRoot: fixture.bytes("1.root.json"))
      for role in ["timestamp", "snapshot", "targets"] {
        let bytes = try trust.opened().contents(of: "\(role).json", limit: 1 << 20)
        let version = try JSONValue(parsing: bytes)["signed"]?["version"]?.integer ?? 0
        let isSame = visible["\(version).\(role)", default: bytes] == bytes
        #expect(isSame, "\(role) version \(version) was signed twice")
        visible["\(version).\(role)"] = bytes
      }
    }
    while fired {
      step += 1
      let before = try fixture.bytes("timestamp.json")
      let fault = FaultPlan(failing: step)
      let time = fixture.now.addingTimeInterval(Double(step))
      let failure = code {
        try fixture.open(fileSystem: fault.fileSystem)
          .add(ProductIdentifier(validating: "p\(step)"), now: time)
      }
      fired = fault.hasFired
      try look()
      if failure != nil {
        try recover(before).add(ProductIdentifier(validating: "q\(step)"), now: time)
        try look()
        try fixture.add("r\(step)", to: fixture.open())
        try look()
      }
    }
    return step
  }

  @Test(.slow)
  func `after a failure at any step of publishing, the next publication signs no version twice`()
    throws
  {
    let steps = try publishWithFaults { _ in try fixture.open() }
    #expect(steps > 30)
  }

  @Test(.slow)
  func `a backup restored after a crash does not reuse versions that clients may have seen`()
    throws
  {
    let steps = try publishWithFaults { before in
      try fixture.put(["timestamp.json": before])
      return try fixture.open(restored: true)
    }
    #expect(steps > 30)
  }
}
