import HostedDigests
import HostedModel
import ContentStore
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedContent
import HostedShop
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedStoreServer

@Suite("A selling server", .waiting, .timeLimit(.hang))
struct SellingServerTests {
  @Test func `a second stop waits for the first, which completes requests`() throws {
    let isHeld = Watched(false)
    let isReached = Watched(false)
    let store = try SampleStore()
    let port = try HeldPort("127.0.0.1", 0)
    var configuration = SellingServer.Configuration()
    configuration.http.openPort = { port }
    // Called for each request that needs a key.
    configuration.now = {
      if isHeld.value { isReached.change { $0 = true } }
      isHeld.block { !$0 }
      return Date()
    }
    let server = try SellingServer(store.data(), selling: store.catalog(), configuration)
    isHeld.change { $0 = true }
    let client = try APIClient(port: port.number, of: server)
    client.request("GET", "/v1/products")
    isReached.block { $0 }
    let first = ThreadCall { server.stop() }
    blockUntil { !Loopback.answers(on: Int(port.number)) }
    let second = ThreadCall { server.stop() }
    #expect(second.isWaiting())
    isHeld.change { $0 = false }
    #expect(try client.response().status == 401)
    first.wait()
    second.wait()
  }

  @Test func `a publication that is not recorded does not repeat a newer one`() throws {
    let store = try SampleStore()
    let catalog = try StoreCatalog(store.catalog()) { _ in }
    let database = FailingDatabase(try store.data().ledgerDatabase())
    let ledger = Ledger(database)
    let publications = try PublicationRecorder(
      catalog, ledger, store.data(), now: { Date() }, report: { _ in })
    try store.add("a")
    try catalog.refreshNow()
    let first = ThreadCall { try? publications.record() }
    database.state.block { $0.writes == 1 }
    try store.add("b")
    try catalog.refreshNow()
    let second = ThreadCall { try? publications.record() }
    _ = second.isWaiting()
    database.state.change { $0.isHeld = false }
    first.wait()
    second.wait()
    try publications.record()
    #expect(try ledger.events(after: 0, limit: 10).map(\.kind) == [.published])
  }

  @Test func `a store that cannot be read since the start is reported once`() throws {
    let store = try SampleStore()
    _ = try StoreCatalog(store.catalog()) { _ in }
    try store.hideMetadata()
    let reports = Watched<[ContentError]>([])
    let catalog = try StoreCatalog(store.catalog()) { error in
      reports.change { $0.append(error) }
    }
    catalog.refreshPeriodically()
    #expect(reports.value.count == 1)
  }

  @Test func `a refresh that the stop of the server ends is not reported`() throws {
    let store = try SampleStore()
    _ = try StoreCatalog(store.catalog()) { _ in }
    // It refuses connections.
    let port = try HeldPort("127.0.0.1", 0)
    let reports = Watched<[ContentError.Code]>([])
    let catalog = try StoreCatalog(store.catalog(at: port.url(scheme: "http"))) { error in
      reports.change { $0.append(error.code) }
    }
    #expect(reports.value == [.connectionRefused])
    catalog.close()
    catalog.refreshPeriodically()
    #expect(reports.value == [.connectionRefused])
  }

  @Test func `a store that cannot be read at a start is not a publication`() throws {
    let store = try SampleStore()
    let ledger = Ledger(try store.data().ledgerDatabase())
    let publications = { (catalog: StoreCatalog) in
      try PublicationRecorder(
        catalog, ledger, store.data(), now: { Date() }, report: { _ in })
    }
    try publications(StoreCatalog(store.catalog()) { _ in }).record()
    try store.hideMetadata()
    let catalog = try StoreCatalog(store.catalog()) { _ in }
    let recorder = try publications(catalog)
    try recorder.record()
    #expect(try ledger.events(after: 0, limit: 10).isEmpty)
    try store.showMetadata()
    try catalog.refreshNow()
    try recorder.record()
    #expect(try ledger.events(after: 0, limit: 10).isEmpty)
    try store.add("a")
    try catalog.refreshNow()
    try recorder.record()
    #expect(try ledger.events(after: 0, limit: 10).map(\.kind) == [.published])
  }

  @Test func `events are deleted after 30 days, once an hour`() throws {
    let folder = try TemporaryFolder()
    let ledger = Ledger(try SQLiteLedger(in: folder.directory))
    let start = Date(timeIntervalSince1970: 1_800_000_000)
    let date = Watched(start)
    let time = Watched(ContinuousClock.now)
    let pruner = try LedgerCleaner(ledger, now: { date.value }, clock: { time.value }) { _ in }
    _ = try ledger.commit([.publish], at: start)
    let old = try #require(try ledger.head()).position
    _ = try ledger.commit([.publish], at: start.addingTimeInterval(2))
    date.change { $0 += Double(30 * 86_400 + 1) }
    time.change { $0 += .seconds(3_599) }
    _ = pruner.cleanHourly()
    #expect(try ledger.head()?.pruned == 0)
    time.change { $0 += .seconds(2) }
    _ = pruner.cleanHourly()
    #expect(try ledger.head()?.pruned == old.sequence)
    #expect(try ledger.events(after: old.sequence, limit: 10).count == 1)
  }

  @Test func `purchases without a decision end once an hour, with an event`() throws {
    let folder = try TemporaryFolder()
    let ledger = Ledger(try SQLiteLedger(in: folder.directory))
    let date = Watched(Date(timeIntervalSince1970: 1_800_000_000))
    let time = Watched(ContinuousClock.now)
    let cleaner = try LedgerCleaner(ledger, now: { date.value }, clock: { time.value }) { _ in }
    let draft = PurchaseDraft(
      transaction: "t", account: "kim", product: "book", quantity: 1, requestDigest: .zero,
      state: .deferred(.approval), contents: [], isRestorable: true)
    _ = try ledger.commit([.purchase(draft)], at: date.value)
    func clean(after days: Double) throws -> Bool {
      date.change { $0 += days * 86_400 }
      time.change { $0 += .seconds(3_601) }
      return cleaner.cleanHourly()
    }
    #expect(try !clean(after: 89))
    #expect(try ledger.purchase("t")?.state == .deferred(.approval))
    #expect(try clean(after: 2))
    #expect(try ledger.purchase("t")?.state.name == "failed")
    #expect(try ledger.events(after: 0, limit: 9).map(\.actor) == ["clock"])
    #expect(try !clean(after: 31))
    #expect(try ledger.purchase("t") == nil)
  }

  @Test func `a server whose receipt key is lost or foreign does not start`() throws {
    let store = try SampleStore()
    let key = "\(try store.data().directory.path)/receipt-key.pem"
    func start() throws {
      let server = try SellingServer(
        store.data(), selling: store.catalog(), SellingServer.Configuration())
      server.stop()
    }
    try start()
    let saved = try Data(contentsOf: URL(filePath: key))
    try FileManager.default.removeItem(atPath: key)
    func expectRefusal(_ words: String) {
      let error = #expect(throws: ContentError.self) { try start() }
      #expect(error?.code == .keyUnusable && error?.message.contains(words) == true)
    }
    expectRefusal("is missing")
    #expect(!FileManager.default.fileExists(atPath: key), "no new key is made")
    let other = try ReceiptSigningKey.generate(.es256)
    try Data(other.pem).write(to: URL(filePath: key))
    expectRefusal("is not one of the ledger's")
    // Such as after a theft: the operator adds the new key.
    let ledger = Ledger(try store.data().ledgerDatabase())
    let digest = try Digest(of: Array(other.verificationKey.pem.utf8))
    try ledger.addReceiptKey(digest, at: Date())
    try start()
    #expect(try ledger.retireReceiptKey(digest, at: Date()))
    expectRefusal("is not one of the ledger's")
    try saved.write(to: URL(filePath: key))
    try start()
  }

  @Test func `a receipt key that is not durable is not used`() throws {
    let folder = try TemporaryFolder()
    let syncs = Watched(0)
    let files = FileSystem { operation, _ in
      guard operation == .sync else { return }
      let number = syncs.change { (count: inout Int) -> Int in
        count += 1
        return count
      }
      // The first sync is that of the file, the second one that of its folder.
      if number == 2 { throw SystemFailure(EIO) }
    }
    let data = StoreServerFolder(try folder.opened(files))
    let ledger = Ledger(try SQLiteLedger(in: folder.directory))
    defer { ledger.close() }
    #expect(throws: ContentError.self) { try data.receiptKey(of: ledger, at: Date()) }
  }
}

/// An empty store, and the data folder of its server.
private final class SampleStore {
  private let folder: TemporaryFolder
  private let store: StoreFolder
  private let root: [UInt8]

  init() throws {
    folder = try TemporaryFolder()
    store = try StoreFolder.create(at: folder.path("store"))
    root = try store.initialRoot()
  }

  func add(_ product: ProductIdentifier) throws { try store.add(product) }

  func data() throws -> StoreServerFolder {
    try StoreServerFolder(folder.path("data"), creating: true)
  }

  /// Returns the catalog of the store, or of a copy at a URL.
  func catalog(at url: String? = nil) throws -> Catalog {
    var network = NetworkSettings()
    network.attempts = 1
    let store = StoreReader(
      try StoreLocation(url ?? folder.path("store")), trustedRoot: root, network: network)
    return try Catalog(store, trustFolder: data().trustFolder())
  }

  /// Makes the store unreadable.
  func hideMetadata() throws {
    let store = try folder.directory.directory("store")
    try store.rename("metadata", to: store, "hidden")
  }

  /// Makes it readable again.
  func showMetadata() throws {
    let store = try folder.directory.directory("store")
    try store.rename("hidden", to: store, "metadata")
  }
}

/// A SQLite ledger whose first write is held, and then fails.
private final class FailingDatabase: LedgerDatabase {
  struct State: Sendable {
    var writes = 0
    var isHeld = true
  }

  let state = Watched(State())
  private let database: SQLiteLedger

  init(_ database: SQLiteLedger) { self.database = database }

  func write<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws -> Value {
    let number = state.change { (state: inout State) -> Int in
      state.writes += 1
      return state.writes
    }
    guard number > 1 else {
      state.block { !$0.isHeld }
      throw ContentError(.ledgerFailed, "The test's ledger failed", remedy: "Try again")
    }
    return try database.write(body)
  }

  func read<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws -> Value? {
    try database.read(body)
  }

  func close() { database.close() }
}
