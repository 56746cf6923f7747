import HostedModel
import HostedPackage
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Refreshes, keys, locks and faults.
extension StoreFolderTests {
  // MARK: Refreshing

  @Test func `an expired catalog is valid again after a refresh`() throws {
    let store = try created()
    try store.publish([package("com.example.book", "1")], now: now)
    let later = now.addingTimeInterval(91 * Self.day)
    #expect(code { _ = try read(at: later) } == .metadataExpired)
    try store.refresh(now: later)
    #expect(try read(at: later).record(of: book)?.offers.count == 1)
    #expect(code { _ = try read(at: later.addingTimeInterval(91 * Self.day)) } == .metadataExpired)
  }

  @Test func `a refresh renews an old root, and clients of the first root can follow`()
    throws
  {
    let store = try created()
    let first = try store.initialRoot()
    let later = now.addingTimeInterval(3700 * Self.day)
    #expect(code { _ = try read(at: later, root: first) } == .metadataExpired)
    try store.refresh(now: later)
    #expect(try read(at: later, root: first).version == 2)
    try store.refresh(now: later)
    #expect(try files().keys.filter { $0.hasSuffix(".root.json") }.count == 2)
  }

  // MARK: Keys and locks

  @Test func `a second publisher is refused during a publication`() throws {
    let store = try created()
    let keys = try FileSystem.real.directory(at: folder.path("shop/store.keys"))
    do {
      let lock = try keys.updatedFile("lock")
      #expect(try lock.tryLock())
      #expect(code { try store.refresh(now: now) } == .storeLocked)
      #expect(code { try store.add(book, now: now) } == .storeLocked)
      #expect(try store.products().isEmpty)
      // A process that another test starts may have the file until it executes its program.
      lock.unlock()
    }
    try store.refresh(now: now)
  }

  @Test func `a store without its keys can be read but not written`() throws {
    let store = try created()
    let parent = try FileSystem.real.directory(at: folder.path("shop"))
    try parent.directory("store.keys").removeFile("snapshot.pem")
    let later = now.addingTimeInterval(300 * Self.day)
    #expect(code { try store.refresh(now: later) } == .keyUnusable)
    try parent.removeTree("store.keys")
    #expect(code { try store.refresh(now: later) } == .keyUnusable)
    #expect(try store.products().isEmpty)
  }

  @Test func `another store's key is refused before anything is published`() throws {
    let store = try created()
    let keys = try FileSystem.real.directory(at: folder.path("shop/store.keys"))
    try keys.replaceFile("targets.pem", with: SigningKey.generate().pem, mode: 0o600)
    #expect(code { try store.add(book, now: now) } == .keyUnusable)
    #expect(try read().version == 1)
  }

  // MARK: Faults

  @Test(.slow) func `after a failure at any step of creating a store, creating it again succeeds`()
    throws
  {
    var step = 0
    var fired = true
    while fired {
      step += 1
      let path = folder.path("store-\(step)")
      let fault = FaultPlan(failing: step)
      let failure = code {
        _ = try StoreFolder.create(at: path, now: now, fileSystem: fault.fileSystem)
      }
      fired = fault.hasFired
      guard failure != nil else { continue }
      if let store = try? StoreFolder.open(at: path) {
        #expect(try store.products().isEmpty)
      } else {
        _ = try StoreFolder.create(at: path, now: now)
      }
      try StoreFolder.open(at: path).add(book, now: now)
    }
    #expect(step > 30)
  }

  @Test(.slow)
  func
    `after a failure at any step of publishing, the catalog is old or new, and a retry succeeds`()
    throws
  {
    _ = try created().publish([package("com.example.book", "1")], now: now)
    var (step, version, fired) = (0, 1, true)
    var outcomes: Set<Int> = []
    while fired {
      step += 1
      version += 1
      let next = try package("com.example.book", "\(version)", text: "text \(version)")
      let count = try bookRecord().offers.count
      let fault = FaultPlan(failing: step)
      let failure = code {
        try StoreFolder.open(at: storePath, fileSystem: fault.fileSystem)
          .publish([next], now: now)
      }
      fired = fault.hasFired
      let seen = try bookRecord().offers.count
      #expect(seen == count || seen == count + 1)
      if failure == nil { #expect(seen == count + 1) } else { outcomes.insert(seen - count) }
      try StoreFolder.open(at: storePath).publish([next], now: now)
      let offers = try bookRecord().offers
      #expect(offers.count == count + 1)
      let newest = try #require(offers.first)
      #expect(newest.version.rawValue == "\(version)")
      #expect(try !contents(of: newest.package).isEmpty)
    }
    #expect(outcomes.contains(0))
    #expect(step > 40)
  }
}
