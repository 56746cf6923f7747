import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Apps for Apple's hosted content move files out of `contentURL`, or delete it.
@Suite("Installed files that an app moved or deleted", .timeLimit(.hang))
struct MovedFilesTests {
  private let fixture: StoreFixture
  private let product = ProductIdentifier("a")

  init() throws { fixture = try StoreFixture(publishing: "a", "1.0") }

  private var version: String { "\(fixture.libraryPath)/products/a/1.0" }

  /// Moves all files of `Contents`, as Apple's sample code does.
  private func moveContents() throws {
    let files = FileManager.default
    let target = fixture.folder.path("documents-\(UUID().uuidString)")
    try files.createDirectory(atPath: target, withIntermediateDirectories: false)
    for name in try files.contentsOfDirectory(atPath: "\(version)/Contents") {
      try files.moveItem(atPath: "\(version)/Contents/\(name)", toPath: "\(target)/\(name)")
    }
  }

  private func deliver() async throws {
    let queue = try fixture.queue()
    defer { queue.close() }
    _ = try await queue.deliver(Payment(productIdentifier: product))
  }

  @Test func `a restore fetches files that were moved away, and then reports finished`()
    async throws
  {
    try await deliver()
    try moveContents()
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.removed.count == 1 }
    let fetched = queue.statistics.bytesFetched
    queue.close()
    #expect(observer.log.downloadStates.values.first == [.waiting, .active, .finished])
    #expect(fetched > 0)
    try fixture.expectInstalled("a", "1.0")
    #expect(try fixture.staged().isEmpty)
  }

  @Test(.slow, arguments: ["missing", "shorter", "a folder"])
  func `only a file that differs from its record is fetched, into the same folder`(
    state: String
  ) async throws {
    var random = SplitMix(state: 1)
    let files = [
      "Contents/large.bin": random.bytes(3_000_000), "Contents/small.bin": random.bytes(50_000),
    ]
    try fixture.publish("b", "1.0", files: files)
    let payment = Payment(productIdentifier: "b")
    let queue = try fixture.queue()
    _ = try await queue.deliver(payment)
    let lease = try await queue.lease(payment.productIdentifier)
    let path = lease.url.appending(path: "Contents/small.bin")
    try FileManager.default.removeItem(at: path)
    if state == "shorter" { try Data([1]).write(to: path) }
    if state == "a folder" {
      try FileManager.default.createDirectory(at: path, withIntermediateDirectories: false)
    }
    let before = queue.statistics.bytesFetched
    let folders = try await queue.deliver(payment)
    let fetched = queue.statistics.bytesFetched - before
    #expect((1..<400_000).contains(fetched), "\(fetched) bytes")
    #expect(folders.map(\.path) == [lease.url.path])
    // The lease is on the folder that was kept.
    await #expect(throws: ContentError.self) {
      try await queue.remove(payment.productIdentifier, version: ContentVersion("1.0"))
    }
    withExtendedLifetime(lease) {}
    queue.close()
    try fixture.expectInstalled("b", "1.0", files: files)
  }

  @Test func `an installed version with all its files is not fetched again`() async throws {
    try await deliver()
    let queue = try fixture.queue()
    _ = try await queue.deliver(Payment(productIdentifier: product))
    #expect(queue.statistics.bytesFetched == 0)
    queue.close()
  }

  @Test(arguments: [true, false])
  func `a finished download with missing files waits at the next launch, and start fetches them`(
    isWhole: Bool
  ) async throws {
    var queue = try fixture.queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: product))
    let folder = try #require(try await queue.install(transaction).first)
    queue.close()
    if isWhole { try FileManager.default.removeItem(at: folder) } else { try moveContents() }
    for launch in 1...2 {
      queue = try fixture.queue()
      // Even before an observer is called.
      #expect(queue.transactions.flatMap(\.downloads).map(\.state) == [.waiting], "\(launch)")
      let observer = RecordingObserver(of: queue)
      await observer.wait { !$0.downloads.isEmpty }
      #expect(observer.log.downloadStates.values.first == [.waiting], "\(launch)")
      #expect(observer.log.download(of: "a")?.contentURL == nil)
      queue.close()
      #expect(try fixture.reader().transactions().flatMap(\.downloads).map(\.state) == [.waiting])
    }
    queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    await observer.wait { $0.removed.count == 1 }
    #expect(observer.log.downloadStates.values.first == [.waiting, .active, .finished])
    queue.close()
    try fixture.expectInstalled("a", "1.0")
  }

  @Test func `a finished download with all its files is reported as finished at each launch`()
    async throws
  {
    let queue = try fixture.queue()
    _ = try await queue.install(queue.purchase(Payment(productIdentifier: product)))
    queue.close()
    let next = try fixture.queue()
    let observer = RecordingObserver(of: next)
    await observer.wait { !$0.downloads.isEmpty }
    #expect(observer.log.downloadStates.values.first == [.finished])
    next.close()
  }

  @Test func `missing files make a finished download wait even without a journal`() async throws {
    var queue = try fixture.queue()
    _ = try await queue.install(queue.purchase(Payment(productIdentifier: product)))
    queue.close()
    try moveContents()
    let isOpened = Mutex(false)
    queue = try fixture.queue {
      $0.fileSystem = FileSystem { operation, path in
        guard operation == .journal, path.hasSuffix("/journal.sqlite") else { return }
        let isCommit = isOpened.withLock { isOpened in
          defer { isOpened = true }
          return isOpened
        }
        if isCommit { throw FaultPlan.diskFull.about(path) }
      }
    }
    let observer = RecordingObserver(of: queue)
    await observer.wait { !$0.downloads.isEmpty }
    #expect(observer.log.downloadStates.values.first == [.waiting])
    queue.close()
  }

  @Test func `a download fails if the missing files cannot be fetched, and can be started again`()
    async throws
  {
    try await deliver()
    try moveContents()
    let store = URL(filePath: fixture.storePath)
    let away = URL(filePath: fixture.folder.path("away"))
    var queue = try fixture.queue()
    let transaction = try #require(try await queue.restore().first)
    try FileManager.default.moveItem(
      at: store.appending(path: "targets"), to: away)
    await #expect(throws: ContentError.self) { try await queue.install(transaction) }
    #expect(queue.transactions.flatMap(\.downloads).map(\.state) == [.failed])
    try FileManager.default.moveItem(
      at: away, to: store.appending(path: "targets"))
    _ = try await queue.install(transaction)
    queue.close()
    queue = try fixture.queue()
    queue.close()
    try fixture.expectInstalled("a", "1.0")
  }

  @Test func `the library lists missing installed files`() async throws {
    try await deliver()
    let content = try #require(try fixture.reader().contents().first?.content)
    #expect(try fixture.reader().missingFiles(of: content).isEmpty)
    try FileManager.default.removeItem(atPath: "\(version)/Contents/text.txt")
    #expect(try fixture.reader().missingFiles(of: content) == ["Contents/text.txt"])
    try FileManager.default.removeItem(atPath: version)
    #expect(try fixture.reader().missingFiles(of: content) == [""])
  }
}
