import HostedConcurrency
import HostedJournal
import HostedLibrary
import HostedModel
import Dispatch
import HostedFileIO
import Foundation
import Glibc
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Housekeeping", .timeLimit(.hang))
struct HousekeepingTests {
  private let fixture: StoreFixture
  private let queue: PaymentQueue
  private let a = ProductIdentifier("a")

  init() throws {
    fixture = try StoreFixture()
    queue = try fixture.queue()
  }

  /// Installs these versions of product `name`, in order.
  private func install(_ name: String, _ versions: [String]) async throws {
    let identifier = try ProductIdentifier(validating: name)
    for version in versions {
      try fixture.publish(name, version)
      let updates = try await queue.availableUpdates()
      if let update = updates.first(where: { $0.productIdentifier == identifier }) {
        _ = try await queue.deliver(update)
      } else {
        _ = try await queue.deliver(Payment(productIdentifier: identifier))
      }
    }
  }

  private func installed() throws -> [String] {
    try fixture.reader().contents().map {
      "\($0.content.contentIdentifier) \($0.content.version)\($0.isCurrent ? " current" : "")"
    }
  }

  @Test func `the recorded size of a version is that of its files, whatever the offer says`()
    async throws
  {
    queue.close()
    try fixture.publish("a", "1.0")
    let products = try await StoreReader(StoreLocation(fixture.storePath)).products(["a"])
    let offer = try #require(products.products.first?.contents.first)
    let impossible = ContentOffer(
      productIdentifier: a, contentIdentifier: a, version: offer.version, installedSize: .max,
      package: offer.package, index: offer.index, signers: offer.signers)
    let other = try fixture.queue {
      $0.service = OneOfferService(offer: impossible)
      $0.environment.usesCatalog = false
    }
    _ = try await other.deliver(Payment(productIdentifier: a))
    #expect(try await other.collect().bytesLeft == offer.installedSize)
    other.close()
  }

  @Test("Removing the current version makes the newest other one current")
  func remove() async throws {
    try await install("a", ["1.0", "1.1", "1.2"])
    try await queue.remove(a, version: ContentVersion("1.2"))
    #expect(try installed() == ["a 1.0", "a 1.1 current"])
    try await queue.remove(a, version: ContentVersion("1.0"))
    try await queue.remove(a, version: ContentVersion("1.1"))
    #expect(try installed() == [])
    #expect(try await queue.installedVersion(of: a) == nil)
    let error = await #expect(throws: ContentError.self) {
      try await queue.remove(a, version: ContentVersion("1.1"))
    }
    #expect(error?.code == .notInstalled)
    #expect(try fixture.staged().isEmpty)
    // A removed version can be installed again.
    _ = try await queue.deliver(Payment(productIdentifier: a))
    try fixture.expectInstalled("a", "1.2")
  }

  @Test("A version whose folder is missing does not prevent collecting others")
  func collectWithoutFolder() async throws {
    try await install("a", ["1.0", "1.1", "1.2"])
    let folder = URL(filePath: fixture.libraryPath).appending(path: "products/a/1.0")
    try FileManager.default.removeItem(at: folder)
    let report = try await queue.collect()
    #expect(report.removed.map(\.version.rawValue) == ["1.1"])
    #expect(try await queue.installedVersion(of: a)?.rawValue == "1.2")
    try await install("b", ["1.0", "1.1"])
    let home = URL(filePath: fixture.libraryPath).appending(path: "products/a")
    try FileManager.default.removeItem(at: home)
    #expect(try await queue.collect().removed.map(\.contentIdentifier.rawValue) == ["b"])
  }

  @Test("A content with an unreadable folder affects no other content, and is not changed")
  func damagedFolder() async throws {
    for name in ["a", "b"] { try await install(name, ["1.0", "2.0"]) }
    queue.close()
    try fixture.publish("c", "1.0")
    let observer = RecordingObserver()
    let queue = try fixture.queue { $0.fileSystem = Self.refusing(EIO) }
    queue.add(observer)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.fileFailed])
    await #expect(throws: ContentError.self) { try await queue.installedVersion(of: a) }
    #expect(try await queue.availableUpdates().isEmpty)
    let report = try await queue.collect()
    #expect(report.removed.map(\.contentIdentifier.rawValue) == ["b"])
    #expect(report.failures.map(\.code) == [.fileFailed])
    _ = try await queue.deliver(Payment(productIdentifier: "c"))
    queue.close()
    #expect(try installed() == ["a 1.0", "a 2.0 current", "b 2.0 current", "c 1.0 current"])
    // A shortage that affects everything, such as of descriptors, fails the start.
    let error = #expect(throws: ContentError.self) {
      try fixture.queue { $0.fileSystem = Self.refusing(EMFILE) }
    }
    #expect(error?.code == .tooManyFiles)
  }

  /// A file system that cannot open the folder of the content “a”.
  private static func refusing(_ number: Int32) -> FileSystem {
    .failing(.open, at: "products/a", as: SystemFailure(number))
  }

  @Test("A version that is being made current is removed only afterwards")
  func useWhileRemoving() async throws {
    try await install("a", ["1.0", "1.1"])
    queue.close()
    let gate = Gate()
    let disk = gate.fileSystem { $0 == .rename && $1.hasSuffix("/a/current") }
    let folder = try LibraryFolder(creating: fixture.libraryPath, fileSystem: disk)
    let library = ContentLibrary(folder, journal: try SQLiteJournal(in: folder.root)) {
      // A call makes a signal before it waits for another one.
      gate.open()
      return DispatchSemaphore.unsent()
    }
    let (a, older) = (a, ContentVersion("1.0"))
    async let using: Void = onOwnThread { try library.use(older, of: a) }
    await gate.waitUntilReached()
    async let removing: Void = onOwnThread {
      defer { gate.open() }
      try library.delete(library.takeOut(a, older))
    }
    try await using
    try await removing
    #expect(!gate.hasGivenUp)
    #expect(try installed() == ["a 1.1 current"])
  }

  @Test("A lease keeps a version, even from another process's engine, until it ends")
  func lease() async throws {
    try await install("a", ["1.0", "1.1"])
    do {
      let lease = try fixture.reader().lease(a, version: ContentVersion("1.0"))
      let error = await #expect(throws: ContentError.self) {
        try await queue.remove(a, version: ContentVersion("1.0"))
      }
      #expect(error?.code == .contentInUse)
      let report = try await queue.collect()
      #expect(report.removed.isEmpty)
      #expect(report.leased.map(\.version.rawValue) == ["1.0"])
      #expect(FileManager.default.fileExists(atPath: lease.url.appending(path: "Contents").path()))
    }
    #expect(try await queue.collect().removed.map(\.version.rawValue) == ["1.0"])
    #expect(try installed() == ["a 1.1 current"])
    #expect(try fixture.reader().lease(a).version.rawValue == "1.1")
  }

  @Test("Collecting keeps the newest versions, pins, and what an unfinished transaction needs")
  func collect() async throws {
    try await install("a", ["1.0", "1.1", "1.2", "1.3"])
    try await queue.setPin(true, on: a, version: ContentVersion("1.0"))
    #expect(try fixture.reader().pins() == [ContentKey(a, version: ContentVersion("1.0"))])
    let report = try await queue.collect(CollectionPolicy(keptVersions: 2))
    #expect(report.removed.map(\.version.rawValue) == ["1.1"])
    #expect(report.bytesFreed > 0)
    #expect(try installed() == ["a 1.0", "a 1.2", "a 1.3 current"])
    try await queue.setPin(false, on: a, version: ContentVersion("1.0"))
    #expect(try await queue.collect().removed.map(\.version.rawValue).sorted() == ["1.0", "1.2"])
    // Bought again and not finished, so its contentURL was given out.
    let transaction = try await queue.purchase(Payment(productIdentifier: a))
    _ = try await queue.install(transaction)
    #expect(try await queue.collect(CollectionPolicy(maximumBytes: 0)).removed.isEmpty)
    #expect(throws: ContentError.self) { try queue.remove(a, version: ContentVersion("1.3")) }
    try await queue.finish(transaction)
    #expect(try await queue.collect(CollectionPolicy(maximumBytes: 0)).bytesLeft == 0)
  }

  @Test("A quota removes the least recently used first")
  func quota() async throws {
    for name in ["a", "b", "c"] { try await install(name, ["1.0"]) }
    let size = try #require(try fixture.reader().contents().first).content.size
    // b is used last; the times differ enough for any file system.
    for (age, name) in ["a", "c", "b"].enumerated() {
      let path = "\(fixture.libraryPath)/products/\(name)/1.0"
      var times = [
        timeval(tv_sec: 1000 + age * 1000, tv_usec: 0), timeval(tv_sec: 500, tv_usec: 0),
      ]
      #expect(utimes(path, &times) == 0)
    }
    let report = try await queue.collect(CollectionPolicy(maximumBytes: size + size / 2))
    #expect(report.removed.map(\.contentIdentifier.rawValue) == ["a", "c"])
    #expect(try installed() == ["b 1.0 current"])
  }

  @Test("An older version can be made current, and is not reported as outdated")
  func rollBack() async throws {
    try await install("a", ["1.0", "1.1"])
    try await queue.use(ContentVersion("1.0"), of: a)
    #expect(try installed() == ["a 1.0 current", "a 1.1"])
    #expect(try await queue.availableUpdates().isEmpty)
    try await queue.use(ContentVersion("1.1"), of: a)
    #expect(try installed() == ["a 1.0", "a 1.1 current"])
    #expect(throws: ContentError.self) { try queue.use(ContentVersion("7"), of: a) }
  }

  @Test("A closed queue changes nothing, because another queue may own the library")
  func closed() async throws {
    try await install("a", ["1.0", "1.1"])
    queue.close()
    let changes: [() throws -> Void] = [
      { try queue.remove(a, version: ContentVersion("1.0")) }, { _ = try queue.collect() },
      { try queue.use(ContentVersion("1.0"), of: a) },
      { try queue.setPin(true, on: a, version: ContentVersion("1.0")) },
    ]
    for change in changes {
      let error = #expect(throws: ContentError.self) { try change() }
      #expect(error?.code == .stopped)
    }
    #expect(try installed() == ["a 1.0", "a 1.1 current"])
  }

  @Test("A version that the engine installs is not removed, even before it is reported")
  func neededBeforeReported() async throws {
    try await install("a", ["1.0"])
    let transaction = try await queue.purchase(Payment(productIdentifier: a))
    queue.start(transaction.downloads)
    #expect(throws: ContentError.self) { try queue.remove(a, version: ContentVersion("1.0")) }
    #expect(try await queue.collect(CollectionPolicy(maximumBytes: 0)).removed.isEmpty)
  }

  @Test("Contents that the catalog no longer offers are listed and stay")
  func obsolete() async throws {
    try await install("a", ["1.0"])
    #expect(try await queue.obsoleteContents().isEmpty)
    queue.close()
    let other = try fixture.queue { $0.service = ScriptedService() }
    #expect(try await other.obsoleteContents().map(\.contentIdentifier.rawValue) == ["a"])
    try fixture.expectInstalled("a", "1.0")
  }
}
