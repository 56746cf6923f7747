import HostedModel
import HostedTrust
import HostedDigests
import HostedConcurrency
import HostedTestSupport
import Testing

/// A store on several servers, each with its own files.
private struct MirroredStore: MetadataFetcher {
  var stores = [StoreInMemory(), StoreInMemory()]
  /// Called with server and path before each fetch.
  ///
  /// Can throw.
  var fault: @Sendable (_ server: Int, _ retries: Bool) throws -> Void = { _, _ in }

  var servers: [any MetadataFetcher] {
    stores.indices.map { Server(store: stores[$0], number: $0, fault: fault) }
  }

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    try servers[0].fetch(path, limit: limit)
  }

  private struct Server: MetadataFetcher {
    let store: StoreInMemory
    let number: Int
    let fault: @Sendable (Int, Bool) throws -> Void
    var retries = true

    var withoutRetries: any MetadataFetcher {
      Server(store: store, number: number, fault: fault, retries: false)
    }

    func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
      try fault(number, retries)
      return try store.fetch(path, limit: limit)
    }
  }
}

@Suite("Metadata of a store with mirrors")
struct MirrorTests {
  private let sample: SampleMetadata
  private let folder: TemporaryFolder
  private let clock: TestClock
  private var store = MirroredStore()

  init() throws {
    sample = try SampleMetadata()
    folder = try TemporaryFolder()
    clock = TestClock(sample.now)
    for server in store.stores { server.put(try sample.publication(2).files) }
  }

  private func refresh() throws -> TrustedTargets {
    try TrustClient(trustFolder: folder.opened(), fetcher: store, now: clock.read)
      .refresh(initialRoot: sample.root())
  }

  @Test("A mirror is not used while the first server is correct")
  func firstIsRight() throws {
    #expect(try refresh().version == 2)
    #expect(store.stores[1].takeFetched().isEmpty)
  }

  @Test(
    "A missing or changed file comes from the mirror",
    arguments: [
      "metadata/timestamp.json", "metadata/2.snapshot.json", "metadata/2.targets.json",
    ], [[], Array("<html>".utf8), nil] as [[UInt8]?])
  func wrongFile(path: String, bytes: [UInt8]?) throws {
    if let bytes { store.stores[0].put([path: bytes]) } else { store.stores[0].remove(path) }
    #expect(try refresh().version == 2)
    #expect(store.stores[1].takeFetched().contains(path))
  }

  @Test("An old publication on the first server is not used if the mirror has the trusted one")
  func rolledBack() throws {
    #expect(try refresh().version == 2)
    store.stores[0].put(try sample.publication(1).files)
    #expect(try refresh().version == 2)
  }

  @Test("A new root comes from the mirror whose timestamp is used")
  func newRoot() throws {
    store.stores[0].remove("metadata/timestamp.json")
    let next = try sample.rotating(.timestamp)
    store.stores[1].put(["metadata/2.root.json": try next.root(2)])
    store.stores[1].put(try next.publication(3).files)
    #expect(try refresh().version == 3)
  }

  @Test("A target that is wrong on the first server comes from the mirror")
  func target() throws {
    let bytes = Array("words".utf8)
    let file = TargetFile(length: 5, digest: try Digest(of: bytes))
    for server in store.stores { server.put(try sample.publication(3, files: ["a": file]).files) }
    let targets = try refresh()
    let path = targets.path(of: "a", file)
    store.stores[0].put([path: Array("other".utf8)])
    store.stores[1].put([path: bytes])
    #expect(try targets.fetchTarget("a") == bytes)
    store.stores[1].remove(path)
    #expect(code { _ = try targets.fetchTarget("a") } == .digestMismatch)
    store.stores[0].remove(path)
    #expect(code { _ = try targets.fetchTarget("a") } == .storeMissing)
  }

  @Test("A busy server is retried if the mirror fails")
  func busyServer() throws {
    var store = store
    let attempts = Mutex<[String]>([])
    store.fault = { server, retries in
      attempts.withLock { $0.append("\(server) \(retries)") }
      if server == 1 { throw ContentError(.connectionRefused, "Refused", remedy: "None") }
      if !retries { throw ContentError(.serverBusy, "Busy", remedy: "None") }
    }
    let client = TrustClient(trustFolder: try folder.opened(), fetcher: store, now: clock.read)
    #expect(try client.refresh(initialRoot: sample.root()).version == 2)
    #expect(attempts.withLock { Array($0.prefix(3)) } == ["0 false", "1 true", "0 true"])
  }

  @Test("A local failure ends a refresh at the first server")
  func ownFailure() throws {
    var store = store
    let asked = Mutex<[Int]>([])
    store.fault = { server, _ in
      asked.withLock { $0.append(server) }
      throw ContentError(.tooManyFiles, "Too many files", remedy: "None")
    }
    let client = TrustClient(trustFolder: try folder.opened(), fetcher: store, now: clock.read)
    #expect(code { _ = try client.refresh(initialRoot: sample.root()) } == .tooManyFiles)
    #expect(asked.withLock { $0 } == [0])
  }

  @Test("Trust on first use takes the first well-formed root")
  func firstRoot() throws {
    #expect(try TrustClient.firstRoot(of: store) == nil)
    store.stores[0].put(["metadata/1.root.json": Array("<html>".utf8)])
    #expect(code { _ = try TrustClient.firstRoot(of: store) } == .metadataDamaged)
    store.stores[1].put(["metadata/1.root.json": try sample.root()])
    #expect(try TrustClient.firstRoot(of: store) == sample.root())
  }
}
