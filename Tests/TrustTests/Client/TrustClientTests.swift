import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite struct TrustClientTests: ClientTests {
  let fixture: ClientFixture

  init() throws {
    fixture = try ClientFixture()
    store.put(try sample.publication().files)
  }

  /// The identities of the stored files.
  ///
  /// A rewritten file has another identity.
  private func keptFiles() throws -> [String: FileIdentity?] {
    let directory = try folder.opened()
    return try directory.entries().reduce(into: [:]) {
      $0[$1.name] = try directory.status(of: $1.name)?.identity
    }
  }

  // MARK: First use

  @Test func `a first refresh without a root fails`() throws {
    #expect(code { _ = try client().refresh(initialRoot: nil) } == .rootMissing)
    #expect(try client().cached() == nil)
  }

  @Test func `the first refresh stores root, timestamp, snapshot, targets and its time`() throws {
    let targets = try client().refresh(initialRoot: sample.root())
    #expect(targets.version == 1)
    #expect(
      try Set(keptFiles().keys) == [
        "root.json", "timestamp.json", "snapshot.json", "targets.json", "last-refresh.json",
      ])
  }

  @Test func `later refreshes need no root and write nothing without news`() throws {
    _ = try client().refresh(initialRoot: sample.root())
    let before = try keptFiles()
    _ = store.takeFetched()
    clock.advance(by: 500)
    _ = try client().refresh(initialRoot: nil)
    #expect(try keptFiles() == before)
    #expect(store.takeFetched() == ["metadata/2.root.json", "metadata/timestamp.json"])
  }

  @Test func `a new publication is fetched by version and replaces the old one`() throws {
    let client = try client()
    _ = try client.refresh(initialRoot: sample.root())
    store.put(try sample.publication(2).files)
    _ = store.takeFetched()
    #expect(try client.refresh(initialRoot: nil).version == 2)
    #expect(
      store.takeFetched() == [
        "metadata/2.root.json", "metadata/timestamp.json", "metadata/2.snapshot.json",
        "metadata/2.targets.json",
      ])
  }

  @Test func `trusted metadata is available without the store, even after it has expired`() throws {
    let file = TargetFile(length: 1, digest: try Digest(of: [7]))
    store.put(try sample.publication(2, files: ["a/b": file]).files)
    _ = try client().refresh(initialRoot: sample.root())
    _ = store.takeFetched()
    clock.advance(by: 1_000_000)
    #expect(try client().cached()?.targets == ["a/b": file])
    #expect(store.takeFetched().isEmpty)
  }

  @Test func `stored targets that were changed are not trusted`() throws {
    _ = try client().refresh(initialRoot: sample.root())
    let other = try SampleMetadata().targets(9)
    try folder.opened().replaceFile("targets.json", with: other)
    #expect(code { _ = try client().cached() } == .signatureInvalid)
    #expect(try client().refresh(initialRoot: nil).version == 1)
    #expect(try client().cached()?.version == 1)
  }

  @Test(arguments: [0, 600 << 10])
  func `the error for a damaged stored root names the file to remove`(_ length: Int) throws {
    _ = try client().refresh(initialRoot: sample.root())
    let spaces = [UInt8](repeating: 0x20, count: length)
    try folder.opened().replaceFile("root.json", with: spaces)
    let error = #expect(throws: ContentError.self) {
      try client().refresh(initialRoot: sample.root())
    }
    #expect(error?.code == .metadataDamaged)
    #expect(error?.message.contains(folder.path("root.json")) == true)
    #expect(code { _ = try client().cached() } == .metadataDamaged)
  }

  @Test(arguments: ["timestamp.json", "snapshot.json", "targets.json", "last-refresh.json"])
  func `other damaged stored files are replaced`(_ name: String) throws {
    _ = try client().refresh(initialRoot: sample.root())
    let directory = try folder.opened()
    try directory.replaceFile(name, with: Array("{".utf8))
    _ = try client().refresh(initialRoot: nil)
    #expect(try directory.contents(of: name, limit: 1 << 20).count > 1)
  }

  // MARK: Missing and too long

  @Test(arguments: [
    "metadata/timestamp.json", "metadata/1.snapshot.json", "metadata/1.targets.json",
  ])
  func `the error for a missing file names it`(_ path: String) throws {
    store.remove(path)
    let error = #expect(throws: ContentError.self) {
      try client().refresh(initialRoot: sample.root())
    }
    #expect(error?.code == .storeMissing)
    #expect(error?.message.contains(path) == true)
  }

  @Test func `an endless timestamp or root is refused at its limit`() throws {
    let spaces = [UInt8](repeating: 0x20, count: 600 << 10)
    store.put(["metadata/timestamp.json": spaces])
    #expect(code { _ = try client().refresh(initialRoot: sample.root()) } == .metadataDamaged)
    store.put(["metadata/2.root.json": spaces])
    #expect(code { _ = try client().refresh(initialRoot: nil) } == .metadataDamaged)
  }

  @Test(arguments: ["metadata/1.snapshot.json", "metadata/1.targets.json"])
  func `a snapshot or targets longer than listed are refused`(_ path: String) throws {
    let bytes = try #require(try store.fetch(path, limit: .max))
    store.put([path: bytes + [0x20]])
    #expect(code { _ = try client().refresh(initialRoot: sample.root()) } == .digestMismatch)
  }

  // MARK: Rollback across runs

  @Test func `an old copy of the store is refused after a restart`() throws {
    let old = try sample.publication(1)
    store.put(try sample.publication(2).files)
    _ = try client().refresh(initialRoot: sample.root())
    store.put(old.files)
    #expect(code { _ = try client().refresh(initialRoot: nil) } == .metadataRolledBack)
    #expect(try client().cached()?.version == 2)
  }

  @Test func `a failed refresh does not change the trusted metadata`() throws {
    _ = try client().refresh(initialRoot: sample.root())
    var next = try sample.publication(2)
    next.targets.removeLast()
    store.put(next.files)
    #expect(code { _ = try client().refresh(initialRoot: nil) } == .digestMismatch)
    #expect(try client().cached()?.version == 1)
    store.put(try sample.publication(3).files)
    #expect(try client().refresh(initialRoot: nil).version == 3)
  }

  // MARK: Root rotation

  @Test func `a chain of roots is followed and stored`() throws {
    var current = sample
    for version in 2...5 {
      let next = try current.rotating(.root)
      store.put([
        "metadata/\(version).root.json": try next.root(
          Int64(version), alsoSignedBy: current)
      ])
      current = next
    }
    _ = try client().refresh(initialRoot: sample.root())
    let kept = try folder.opened().contents(of: "root.json", limit: 1 << 20)
    #expect(try TrustedMetadata(root: kept).root.version == 5)
  }

  @Test func `an expired root does not matter if there is a newer one`() throws {
    store.put(["metadata/2.root.json": try sample.root(2)])
    let expired = try sample.root(1, expires: sample.now.addingTimeInterval(-5))
    #expect(try client().refresh(initialRoot: expired).version == 1)
  }

  @Test func `an expired newest root is refused`() throws {
    store.put([
      "metadata/2.root.json": try sample.root(2, expires: sample.now.addingTimeInterval(-5))
    ])
    #expect(code { _ = try client().refresh(initialRoot: sample.root()) } == .metadataExpired)
  }

  @Test func `after new keys, versions below the attacker's are accepted, across runs`() throws {
    store.put(try sample.publication(1_000_000).files)
    _ = try client().refresh(initialRoot: sample.root())
    let next = try sample.rotating(.snapshot)
    store.put(["metadata/2.root.json": try next.root(2)])
    store.put(try next.publication(2).files)
    #expect(try client().refresh(initialRoot: nil).version == 2)
  }

  @Test func `a read-only client decides the same, and does not change the folder`() throws {
    store.put(try sample.publication(5).files)
    _ = try client().refresh(initialRoot: sample.root())
    let before = try keptFiles()
    func reader() throws -> TrustClient {
      TrustClient(
        trustFolder: try folder.opened(), isReadOnly: true, fetcher: store, now: clock.read)
    }
    store.put(try sample.publication(4).files)
    #expect(code { _ = try reader().refresh(initialRoot: nil) } == .metadataRolledBack)
    store.put(try sample.publication(6).files)
    #expect(try reader().refresh(initialRoot: nil).version == 6)
    // New keys withdraw the recorded metadata, whether the new root is found or given.
    let next = try sample.rotating(.snapshot)
    let root = try next.root(2)
    store.put(["metadata/2.root.json": root])
    store.put(try next.publication(2).files)
    for given in [nil, root] {
      #expect(try reader().refresh(initialRoot: given).version == 2)
    }
    #expect(try keptFiles() == before)
  }

  // MARK: Clock

  @Test func `the error for a clock that was set back by more than an hour has both times`() throws
  {
    _ = try client().refresh(initialRoot: sample.root())
    clock.advance(by: -3601)
    let error = #expect(throws: ContentError.self) { try client().refresh(initialRoot: nil) }
    #expect(error?.code == .clockWentBackwards)
    #expect(error?.message.contains("2030-03-17T16:46:39Z") == true)
    #expect(error?.message.contains("2030-03-17T17:46:40Z") == true)
    clock.advance(by: 1)
    _ = try client().refresh(initialRoot: nil)
  }

  // MARK: Targets

  @Test func `a small target is fetched by digest and verified`() throws {
    let bytes = Array("words".utf8)
    let digest = try Digest(of: bytes)
    let file = TargetFile(length: 5, digest: digest)
    store.put(try sample.publication(2, files: ["p/q.json": file]).files)
    let targets = try client().refresh(initialRoot: sample.root())
    #expect(targets.path(of: "p/q.json", file) == "targets/p/\(digest.hex).q.json")
    #expect(code { _ = try targets.fetchTarget("p/q.json") } == .storeMissing)
    store.put(["targets/p/\(digest.hex).q.json": bytes])
    #expect(try targets.fetchTarget("p/q.json") == bytes)
    #expect(code { _ = try targets.fetchTarget("p/q.json", limit: 4) } == .limitExceeded)
    #expect(code { _ = try targets.fetchTarget("p/other") } == .storeMissing)
    for bent in ["Words", "word", "words!"] {
      store.put(["targets/p/\(digest.hex).q.json": Array(bent.utf8)])
      #expect(code { _ = try targets.fetchTarget("p/q.json") } == .digestMismatch)
    }
  }

  // MARK: Faults

  @Test(.slow)
  func `after a failure at any step of a refresh, the old or new state is stored and usable`()
    throws
  {
    let next = try sample.rotating(.timestamp)
    let (before, after) = (try sample.publication(1).files, try next.publication(2).files)
    var step = 0
    var fired = true
    while fired {
      step += 1
      let folder = try TemporaryFolder()
      let store = StoreInMemory()
      store.put(before)
      let client = TrustClient(
        trustFolder: try folder.opened(), fetcher: store, now: clock.read)
      _ = try client.refresh(initialRoot: sample.root())
      store.put(after)
      store.put(["metadata/2.root.json": try next.root(2)])

      let fault = FaultPlan(failing: step)
      let failure = code {
        _ = try TrustClient(
          trustFolder: folder.opened(fault.fileSystem), fetcher: store, now: clock.read
        ).refresh(initialRoot: nil)
      }
      fired = fault.hasFired
      // A failure of some steps, such as removing a missing file, may go unnoticed. None may leave
      // a state from which the client cannot continue.
      #expect(failure == nil || failure == .diskFull)
      #expect(try [1, 2].contains(client.cached()?.version ?? 0))
      #expect(try client.refresh(initialRoot: nil).version == 2)
    }
    #expect(step > 20)
  }
}

/// A clock that a test sets.
final class TestClock: Sendable {
  private let time: Mutex<Date>

  init(_ time: Date) { self.time = Mutex(time) }

  var read: @Sendable () -> Date { { self.time.withLock { $0 } } }

  func advance(by interval: TimeInterval) { time.withLock { $0 += interval } }
}
