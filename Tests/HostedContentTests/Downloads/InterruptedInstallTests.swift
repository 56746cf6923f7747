import HostedJournal
import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Small cases of faults that the simulation found, on a real disk.
@Suite("Interrupted installs and repairs", .timeLimit(.hang))
struct InterruptedInstallTests {
  /// A file system whose first operation of this kind on a path with this suffix fails.
  private static func failingOnce(_ kind: FileOperation, _ suffix: String) -> FileSystem {
    let hasFailed = Mutex(false)
    return FileSystem { operation, path in
      guard operation == kind, path.hasSuffix(suffix) else { return }
      let isFirst = hasFailed.withLock { hasFailed in
        defer { hasFailed = true }
        return !hasFailed
      }
      if isFirst { throw FaultPlan.diskFull.about(path) }
    }
  }

  @Test("An install that fails after its folder is in place fetches nothing again")
  func afterTheRename() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let fetched = Mutex<Int64?>(nil)
    let observer = RecordingObserver(
      onTransactions: { queue, transactions in
        for transaction in transactions where transaction.transactionState == .purchased {
          queue.start(transaction.downloads)
        }
      },
      onDownloads: { queue, downloads in
        for download in downloads where download.state == .failed {
          fetched.withLock { $0 = queue.statistics.bytesFetched }
          queue.start([download])
        }
        for download in downloads where download.state == .finished {
          queue.finishTransaction(download.transaction)
        }
      })
    let queue = try fixture.queue { $0.fileSystem = Self.failingOnce(.sync, "products/a") }
    queue.add(observer)
    queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.removed.count == 1 }
    let before = try #require(fetched.withLock { $0 }, "the first attempt failed")
    #expect(before > 0)
    #expect(queue.statistics.bytesFetched == before)
    queue.close()
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("An interrupted repair keeps the version and its pin")
  func repair() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let product = ProductIdentifier("a")
    var queue = try fixture.queue()
    _ = try await queue.deliver(Payment(productIdentifier: product))
    try await queue.setPin(true, on: product, version: ContentVersion("1.0"))
    queue.close()
    let content = try #require(try fixture.reader().contents().first?.content)
    try FileManager.default.removeItem(
      atPath: "\(fixture.libraryPath)/products/a/1.0/Contents/text.txt")
    queue = try fixture.queue {
      $0.fileSystem = Self.failingOnce(.rename, "products/a/1.0/Contents/text.txt")
    }
    await #expect(throws: ContentError.self) { try await queue.repair(content) }
    queue.close()
    queue = try fixture.queue()
    #expect(try fixture.reader().contents().map(\.content) == [content])
    #expect(try fixture.reader().pins().count == 1)
    _ = try await queue.repair(content)
    queue.close()
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("Files that cannot be removed stop nothing, and the first observer gets the error")
  func leftovers() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let product = ProductIdentifier("a")
    let stubborn = FileSystem.failing(
      .remove, at: "/stranger", as: ContentError(.notPermitted, "Not removed", remedy: "Wait"))
    try fixture.queue().close()
    // Unexpected files at the version's path are moved to staging.
    let stranger = "\(fixture.libraryPath)/products/a/1.0/stranger"
    try FileManager.default.createDirectory(
      atPath: stranger, withIntermediateDirectories: true)
    for _ in 1...2 {
      let queue = try fixture.queue { $0.fileSystem = stubborn }
      _ = try await queue.deliver(Payment(productIdentifier: product))
      queue.close()
    }
    #expect(try fixture.staged().count == 1)
    var observer = RecordingObserver()
    var queue = try fixture.queue { $0.fileSystem = stubborn }
    queue.add(observer)
    await observer.wait { $0.errors.count == 1 }
    #expect(observer.log.errors.allSatisfy { $0.code == .notPermitted })
    queue.close()
    observer = RecordingObserver()
    queue = try fixture.queue()
    queue.add(observer)
    queue.close()
    #expect(try fixture.staged().isEmpty)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("A folder such as lost+found among the products is not changed")
  func lostAndFound() throws {
    let temporary = try TemporaryFolder()
    let disk = FileSystem { _, path in
      if path.hasSuffix("lost+found") {
        throw ContentError(.notPermitted, "Not to be opened", remedy: "", subject: path)
      }
    }
    let folder = try LibraryFolder(creating: temporary.path("library"), fileSystem: disk)
    let path = temporary.path("library/products/lost+found")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let library = ContentLibrary(folder, journal: try SQLiteJournal(in: folder.root))
    #expect(try library.recover(keeping: []).isEmpty)
    #expect(try library.delete(library.takeOut(CollectionPolicy())) == CollectionReport())
    #expect(try library.list().isEmpty)
    #expect(FileManager.default.fileExists(atPath: path))
  }

  @Test("A switch of current whose sync failed is made durable by the next attempt")
  func unsyncedSwitch() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let product = ProductIdentifier("a")
    try await fixture.install(product)
    let syncs = Mutex(0)
    let disk = FileSystem { operation, path in
      if operation == .sync, path.hasSuffix("products/a") { syncs.withLock { $0 += 1 } }
    }
    let folder = try LibraryFolder(creating: fixture.libraryPath, fileSystem: disk)
    let library = ContentLibrary(folder, journal: try SQLiteJournal(in: folder.root))
    try library.advance(product, to: ContentVersion("1.0"))
    #expect(syncs.withLock { $0 } == 1)
  }

  @Test("A link left by an interrupted removal is collected, even without a remaining version")
  func leftLink() throws {
    let folder = try TemporaryFolder()
    let files = try LibraryFolder(creating: folder.path("library"))
    let library = ContentLibrary(files, journal: try SQLiteJournal(in: files.root))
    let home = try files.products.createDirectory("a")
    try home.createLink(".current.new", to: "1.0")
    #expect(try library.recover(keeping: []).isEmpty)
    #expect(try home.entries().isEmpty)
  }

  @Test("Work that found a version before its removal does not make it current")
  func removed() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let (product, version) = (ProductIdentifier("a"), ContentVersion("1.0"))
    try await fixture.install(product)
    let folder = try LibraryFolder(creating: fixture.libraryPath)
    let library = ContentLibrary(folder, journal: try SQLiteJournal(in: folder.root))
    try library.delete(library.takeOut(product, version))
    #expect(throws: ContentError.self) { try library.advance(product, to: version) }
    #expect(try folder.products.directory("a").link("current") == nil)
  }

  @Test("A version that is removed while its files are replaced is not recorded again")
  func removedWhileReplaced() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let (product, version) = (ProductIdentifier("a"), ContentVersion("1.0"))
    try await fixture.install(product)
    let removal = Mutex<(@Sendable () -> Void)?>(nil)
    let disk = FileSystem { operation, path in
      guard operation == .rename, path.hasSuffix("/a/1.0/ContentInfo.plist") else { return }
      let remove: (@Sendable () -> Void)? = removal.withLock { state in
        defer { state = nil }
        return state
      }
      remove?()
    }
    let folder = try LibraryFolder(creating: fixture.libraryPath, fileSystem: disk)
    let library = ContentLibrary(folder, journal: try SQLiteJournal(in: folder.root))
    let content = try #require(try library.record(of: product, version))
    let id = UUID().uuidString.lowercased()
    let files = try library.staging(for: id).createDirectory("content")
    try files.replaceFile("ContentInfo.plist", with: [1])
    removal.withLock { $0 = { _ = try? library.takeOut(product, version) } }
    let error = #expect(throws: ContentError.self) {
      try library.install("content", ofDownload: id, as: content, files: [])
    }
    #expect(error?.code == .notInstalled)
    #expect(try library.list().isEmpty)
    let home = try folder.products.directory("a")
    #expect(try home.link("current") == nil)
    #expect(try home.status(of: "1.0") == nil)
  }
}
