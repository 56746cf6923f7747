import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// The library's folder: permissions, locations, and leftovers.
@Suite("The library's folder", .timeLimit(.hang))
struct LibraryTests {
  @Test("A version with another spelling is installed under its own name")
  func sameVersionWrittenOtherwise() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    var queue = try fixture.queue()
    var observer = RecordingObserver.delivering(of: queue)
    let product = ProductIdentifier("a")
    queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.removed.count == 1 }
    let found = try await queue.products(["a"]).products.first?.contents.first
    let offer = try #require(found)
    queue.close()
    let service = OneOfferService(
      offer: ContentOffer(
        productIdentifier: product, contentIdentifier: product,
        version: ContentVersion("1.0.0"), installedSize: offer.installedSize,
        package: offer.package, index: offer.index))
    queue = try fixture.queue { $0.service = service }
    observer = RecordingObserver.delivering(of: queue)
    queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.removed.count == 1 }
    let url = try #require(observer.log.download(of: "a")?.contentURL)
    #expect(FileManager.default.fileExists(atPath: url.path(percentEncoded: false)))
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("A second process that opens a library during its creation gets a lock error")
  func openedTwice() throws {
    let fixture = try StoreFixture()
    let second = Mutex<ContentError.Code?>(nil)
    let slow = FileSystem { operation, path in
      guard operation == .write, path.hasSuffix(".CACHEDIR.TAG.new") else { return }
      let code: ContentError.Code?
      do {
        _ = try PaymentQueue(fixture.configuration())
        code = nil
      } catch {
        code = (error as? ContentError)?.code
      }
      second.withLock { $0 = code }
    }
    let queue = try fixture.queue { $0.fileSystem = slow }
    #expect(second.withLock { $0 } == .libraryLocked)
    queue.close()
  }

  @Test("Data of a cancelled download is removed at once or by the next launch")
  func cancelledLeftover() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    try await fixture.leaveActiveDownload(of: "a")
    let id = try #require(try fixture.reader().transactions().first?.downloads.first?.id)
    try fixture.editJournal { $0.downloads[0].status = .cancelled }
    let left = "\(fixture.libraryPath)/staging/\(id)"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
    try Data(count: 10).write(to: URL(filePath: "\(left)/package"))
    try fixture.queue().close()
    #expect(try fixture.staged().isEmpty)
  }

  @Test("Created parent folders of a library are durable")
  func parents() throws {
    let folder = try TemporaryFolder()
    let synced = Mutex(Set<String>())
    let disk = FileSystem { operation, path in
      if operation == .sync { _ = synced.withLock { $0.insert(path) } }
    }
    _ = try disk.directory(at: folder.path("a/b/library"), creating: true)
    #expect(
      synced.withLock { $0 } == [folder.path, folder.path("a"), folder.path("a/b")])
  }

  @Test("A library that is read-only for the user can be read, with and without a running queue")
  func readOnly() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: fixture.folder.path)
    do {
      let queue = try fixture.queue()
      let observer = RecordingObserver.delivering(of: queue)
      queue.add(Payment(productIdentifier: "a"))
      await observer.wait { $0.removed.count == 1 }
      #expect(try asStranger { try fixture.reader().contents().count } == 1)
    }
    // The journal is closed with the queue, on any thread that held it last.
    let log = "\(fixture.libraryPath)/journal.sqlite-wal"
    try await waitUntil {
      try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int == 0
    }
    #expect(try asStranger { try fixture.reader().contents().count } == 1)
    // A copy on a read-only disk has neither log nor shared memory.
    let copy = fixture.folder.path("copy of 50 % #1?")
    try FileManager.default.copyItem(atPath: fixture.libraryPath, toPath: copy)
    for suffix in ["-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: "\(copy)/journal.sqlite\(suffix)")
    }
    // The owner allows others to read the journal, too.
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o444], ofItemAtPath: "\(copy)/journal.sqlite")
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: copy)
    let reader = try asStranger { try LibraryReader(URL(filePath: copy)) }
    #expect(try reader.contents().count == 1)
    #expect(try reader.finishedTransactions().count == 1)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy)
  }

  /// Runs `body` as a user who owns nothing, or as this user if it is not root.
  private func asStranger<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    try OtherUser.obstacle == nil ? OtherUser.perform(body) : body()
  }

  @Test("A library or a reader at a URL that is not a file URL is a usage error")
  func address() throws {
    let fixture = try StoreFixture()
    let url = try #require(URL(string: "https://example.com\(fixture.libraryPath)"))
    let error = #expect(throws: ContentError.self) { try fixture.queue { $0.library = url } }
    #expect(error?.code == .usage)
    #expect(throws: ContentError.self) { try LibraryReader(url) }
  }
}
