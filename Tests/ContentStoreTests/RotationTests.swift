import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// The view of clients during a key rotation, and after an interrupted one.
@Suite(.long) struct RotationTests {
  private let fixture: PublisherFixture

  init() throws { fixture = try PublisherFixture() }

  /// Refreshes two clients: one that has trusted the store before, and one that starts with its
  /// first root.
  private func refreshClients(
    _ known: TemporaryFolder, _ root: [UInt8], _ fixture: PublisherFixture
  ) throws {
    #expect(try fixture.products(trusting: root) == ["a"])
    // For this client, each step is the first refresh after the state before the rotation.
    let trust = try TemporaryFolder()
    defer { withExtendedLifetime(trust) {} }
    for entry in try known.opened().entries() {
      try trust.opened().replaceFile(
        entry.name, with: known.opened().contents(of: entry.name, limit: 1 << 20))
    }
    let targets = try fixture.client(trust).refresh(initialRoot: nil)
    #expect(try PublisherFixture.products(targets) == ["a"])
  }

  @Test(
    .slow,
    arguments: [
      [StoreRole.timestamp], [.snapshot], [.targets], [.root], [.targets, .snapshot, .timestamp],
      StoreRole.allCases,
    ])
  func `clients can read the store at every step of a rotation`(_ roles: [StoreRole]) throws {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    let root = try store.initialRoot()
    let known = try TemporaryFolder()
    _ = try fixture.client(known).refresh(initialRoot: root)
    let steps = Mutex(0)
    let watched = FileSystem { operation, path in
      guard [.rename, .sync, .remove].contains(operation) else { return }
      steps.withLock { $0 += 1 }
      try refreshClients(known, root, fixture)
    }
    try fixture.open(fileSystem: watched).rotate(
      roles, plan: StoreKeyPlan(counts: [.targets: 2], thresholds: [.targets: 2]), now: fixture.now)
    #expect(steps.withLock { $0 } > 5)
    try refreshClients(known, root, fixture)
    // The next publication is only signed by the new keys.
    try fixture.add("b", to: store)
    #expect(try fixture.products(trusting: root) == ["a", "b"])
    let targets = try fixture.client(known).refresh(initialRoot: nil)
    #expect(try PublisherFixture.products(targets) == ["a", "b"])
  }

  @Test func `new keys of timestamp and snapshot do not sign targets again`() throws {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    try store.rotate([.timestamp, .snapshot], now: fixture.now)
    #expect(try fixture.bytes("2.root.json") != fixture.bytes("1.root.json"))
    #expect(try fixture.files()["3.snapshot.json"] != nil)
    #expect(try fixture.files()["3.targets.json"] == nil)
    #expect(try fixture.products(trusting: store.initialRoot()) == ["a"])
    try store.rotate([.targets], now: fixture.now)
    #expect(try fixture.files()["3.targets.json"] != nil)
    #expect(try fixture.products(trusting: store.initialRoot()) == ["a"])
  }

  @Test(.slow) func `after a failure at any step of a rotation, clients can read the store`() throws
  {
    var (step, fired) = (0, true)
    while fired {
      step += 1
      // A new store each time, because each rotation makes the next one longer.
      let fixture = try PublisherFixture()
      let store = try fixture.create()
      try fixture.add("a", to: store)
      let root = try store.initialRoot()
      let known = try TemporaryFolder()
      _ = try fixture.client(known).refresh(initialRoot: root)
      let fault = FaultPlan(failing: step)
      _ = code {
        try fixture.open(fileSystem: fault.fileSystem).rotate(StoreRole.allCases, now: fixture.now)
      }
      fired = fault.hasFired
      try refreshClients(known, root, fixture)
      try fixture.open().rotate(StoreRole.allCases, now: fixture.now)
      try fixture.add("b", to: store)
      #expect(try fixture.products(trusting: root) == ["a", "b"])
    }
    #expect(step > 30)
  }

  @Test func `the old keys do not sign after the rotation`() throws {
    let store = try fixture.create()
    try fixture.copy("store.keys", to: "old.keys")
    let old = try fixture.bytes("1.root.json")
    try store.rotate([.targets, .snapshot, .timestamp], now: fixture.now)
    var trusted = try TrustedMetadata(root: old)
    #expect(try trusted.update(timestamp: fixture.bytes("timestamp.json"), now: fixture.now))
    try fixture.add("a", to: store)
    trusted = try TrustedMetadata(root: old)
    let timestamp = try fixture.bytes("timestamp.json")
    #expect(
      code { _ = try trusted.update(timestamp: timestamp, now: fixture.now) } == .signatureInvalid)
  }

  /// Rotates and publishes when a client first requests the timestamp.
  private final class LateFetcher: MetadataFetcher {
    let store: FolderFetcher
    let change: Mutex<(@Sendable () throws -> Void)?>

    init(_ store: FolderFetcher, _ change: @escaping @Sendable () throws -> Void) {
      self.store = store
      self.change = Mutex(change)
    }

    func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
      if path.hasSuffix("timestamp.json") {
        let change = change.withLock { change in
          defer { change = nil }
          return change
        }
        try change?()
      }
      return try store.fetch(path, limit: limit)
    }
  }

  @Test func `a client that fetched the roots before a rotation fetches them again`() throws {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    let trust = try TemporaryFolder()
    let now = fixture.now
    let fixture = fixture
    let fetcher = LateFetcher(
      FolderFetcher(try FileSystem.real.directory(at: fixture.storePath))
    ) {
      try store.rotate(StoreRole.allCases, now: now)
      try fixture.add("b", to: store)
    }
    let client = TrustClient(trustFolder: try trust.opened(), fetcher: fetcher, now: { now })
    let targets = try client.refresh(initialRoot: store.initialRoot())
    #expect(try PublisherFixture.products(targets) == ["a", "b"])
  }
}
