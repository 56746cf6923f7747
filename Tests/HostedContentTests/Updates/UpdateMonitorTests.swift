import HostedConcurrency
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("The update monitor", .timeLimit(.hang))
struct UpdateMonitorTests {
  private let fixture: StoreFixture
  private let queue: PaymentQueue

  init() async throws {
    fixture = try StoreFixture()
    queue = try fixture.queue()
    for name in ["a", "b"] {
      try fixture.publish(name, "1.9")
      _ = try await queue.deliver(
        Payment(productIdentifier: try ProductIdentifier(validating: name)))
    }
  }

  @Test("Automatic: a newer version, by number, is installed and becomes current")
  func automatic() async throws {
    try fixture.publish("a", "1.10")
    let check = try await UpdateMonitor(queue, policy: .automatic).check()
    #expect(check.updates.map(\.offered.rawValue) == ["1.10"])
    #expect(check.installed.count == 1)
    #expect(check.failures.isEmpty)
    try fixture.expectInstalled("a", "1.10")
    try fixture.expectInstalled("a", "1.9", isCurrent: false)
    #expect(queue.transactions.isEmpty)
  }

  @Test("Notify only: a newer version is reported and not downloaded")
  func notifyOnly() async throws {
    try fixture.publish("a", "1.10")
    let check = try await UpdateMonitor(queue, policy: .notifyOnly).check()
    #expect(check.updates.count == 1)
    #expect(check.installed.isEmpty)
    try fixture.expectInstalled("a", "1.9")
    #expect(try fixture.reader().contents().count == 2)
  }

  @Test("Download only: a newer version is installed, and the current one stays until it is used")
  func downloadOnly() async throws {
    try fixture.publish("a", "1.10")
    let monitor = UpdateMonitor(queue, policy: .downloadOnly)
    #expect(try await monitor.check().installed.count == 1)
    try fixture.expectInstalled("a", "1.9")
    try fixture.expectInstalled("a", "1.10", isCurrent: false)
    #expect(try await monitor.check().updates.isEmpty)
    try await queue.use(ContentVersion("1.10"), of: ProductIdentifier("a"))
    try fixture.expectInstalled("a", "1.10")
  }

  /// Returns a queue whose service offers this version of “a”, with files of `length` bytes.
  private func queue(offering version: ContentVersion, length: Int64) throws -> PaymentQueue {
    queue.close()
    let file = SignedFile(
      path: "x", length: length,
      digest: try #require(Digest(hex: String(repeating: "0", count: 64))))
    let identifier = ProductIdentifier("a")
    let offer = ContentOffer(
      productIdentifier: identifier, contentIdentifier: identifier, version: version,
      installedSize: length, package: file, index: file)
    let product = Product(
      productIdentifier: identifier, type: .nonConsumable, texts: [:], price: nil,
      contents: [offer])
    return try fixture.queue { $0.service = ScriptedService([product]) }
  }

  @Test("A downgrade in the catalog is reported and not installed")
  func downgrade() async throws {
    let other = try queue(offering: ContentVersion("1.8"), length: 1)
    let check = try await UpdateMonitor(other, policy: .automatic).check()
    #expect(check.updates.isEmpty)
    #expect(check.downgrades.map(\.offered.rawValue) == ["1.8"])
    #expect(check.downgrades.map(\.installed.rawValue) == ["1.9"])
    try fixture.expectInstalled("a", "1.9")
  }

  @Test func `an offer with impossible lengths does not end the process`() async throws {
    let other = try queue(offering: ContentVersion("1.10"), length: .max)
    #expect(try await other.availableUpdates().map(\.bytesInFull) == [.max])
    other.close()
  }

  @Test("A failed update does not affect others, and continues at the next check")
  func failure() async throws {
    for name in ["a", "b"] { try fixture.publish(name, "2.0") }
    let archives = "\(fixture.storePath)/targets/a/2.0"
    try FileManager.default.moveItem(atPath: archives, toPath: fixture.folder.path("away"))
    let monitor = UpdateMonitor(queue, policy: .automatic)
    let check = try await monitor.check()
    #expect(check.installed.map(\.contentIdentifier.rawValue) == ["b"])
    #expect(check.failures.map(\.error.code) == [.storeMissing])
    let open = queue.transactions
    #expect(open.count == 1)
    try FileManager.default.moveItem(atPath: fixture.folder.path("away"), toPath: archives)
    #expect(try await monitor.check().installed.map(\.contentIdentifier.rawValue) == ["a"])
    #expect(queue.transactions.isEmpty)
    try fixture.expectInstalled("a", "2.0")
  }

  @Test func `updates are installed if the number of active downloads is above its limit`()
    async throws
  {
    queue.close()
    let other = try fixture.queue { $0.maximumActiveDownloads = .max }
    try fixture.publish("a", "1.10")
    #expect(try await UpdateMonitor(other, policy: .automatic).check().installed.count == 1)
    other.close()
    try fixture.expectInstalled("a", "1.10")
  }

  @Test("Looking for updates and obsolete contents does not read files on a thread of tasks")
  func reads() async throws {
    queue.close()
    // Nil while the queue opens.
    let paths = Mutex<[String]?>(nil)
    let fileSystem = FileSystem { _, path in
      if withUnsafeCurrentTask(body: { $0 != nil }) { paths.withLock { $0?.append(path) } }
    }
    let other = try fixture.queue { $0.fileSystem = fileSystem }
    paths.withLock { $0 = [] }
    _ = try await other.availableUpdates()
    _ = try await other.obsoleteContents()
    other.close()
    #expect(paths.withLock { $0 } == [])
  }

  @Test("A check asks the service only for the products of installed contents")
  func askedProducts() async throws {
    queue.close()
    let service = AskedService()
    let other = try fixture.queue { $0.service = service }
    _ = try await UpdateMonitor(other, policy: .notifyOnly).check()
    _ = try await other.availableUpdates()
    other.close()
    let installed = try Set(["a", "b"].map { try ProductIdentifier(validating: $0) })
    #expect(service.asked == [installed, installed])
    #expect(service.looksAtAll == 0)
  }

  @Test("The sequence checks at once, after each interval, and when content was published")
  func schedule() async throws {
    let service = ScriptedService()
    queue.close()
    let other = try fixture.queue { $0.service = service }
    let observer = RecordingObserver()
    other.add(observer)
    let (ticks, tick) = AsyncStream.makeStream(of: Void.self)
    let monitor = UpdateMonitor(
      other, policy: .notifyOnly, interval: .seconds(3600),
      sleep: { _ in
        for await _ in ticks { return }
        throw CancellationError()
      })
    var results = monitor.makeAsyncIterator()
    func succeeds() async -> Bool { (try? await results.next()?.get()) != nil }
    #expect(await succeeds())
    tick.yield()
    #expect(await succeeds())
    service.send(.contentPublished)
    #expect(await succeeds())
    // Nothing is due, so it waits until the queue is closed.
    other.close()
    #expect(await results.next() == nil)
  }

  @Test("The sequence waits at least a second, and takes an interval that no clock can add")
  func extremeIntervals() async throws {
    let expected: [(interval: Duration, wait: Duration)] = [
      (.zero, .seconds(1)), (.seconds(-5), .seconds(1)), (.seconds(2), .seconds(2)),
      (.seconds(Int64.max), .seconds(Int32.max)),
    ]
    for (interval, wait) in expected {
      let (waits, log) = AsyncStream.makeStream(of: Duration.self)
      let monitor = UpdateMonitor(
        queue, policy: .notifyOnly, interval: interval,
        sleep: { duration in
          log.yield(duration)
          throw CancellationError()
        })
      _ = monitor.makeAsyncIterator()
      var found = waits.makeAsyncIterator()
      #expect(await found.next() == wait)
    }
    queue.close()
  }

  @Test(
    "A failed check is a result and the next one follows, until the task is cancelled")
  func failures() async throws {
    queue.close()
    let other = try fixture.queue { $0.service = Failing() }
    let (ticks, tick) = AsyncStream.makeStream(of: Void.self)
    let (results, found) = AsyncStream.makeStream(of: ContentError.Code.self)
    let task = Task {
      let monitor = UpdateMonitor(
        other, policy: .automatic, interval: .seconds(1),
        sleep: { _ in
          for await _ in ticks { return }
          throw CancellationError()
        })
      for await result in monitor {
        do {
          _ = try result.get()
          found.yield(.inconsistent)
        } catch {
          found.yield((error as? ContentError)?.code ?? .stopped)
        }
      }
      found.finish()
    }
    var codes = results.makeAsyncIterator()
    #expect(await codes.next() == .serverFailed)
    tick.yield()
    #expect(await codes.next() == .serverFailed)
    task.cancel()
    #expect(await codes.next() == nil)
    other.close()
  }
}

/// A service that records which products it was asked for.
private final class AskedService: PartialService {
  private let state = Mutex((asked: [Set<ProductIdentifier>](), looksAtAll: 0))

  var asked: [Set<ProductIdentifier>] { state.withLock { $0.asked } }
  var looksAtAll: Int { state.withLock { $0.looksAtAll } }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    state.withLock { $0.asked.append(identifiers) }
    return ProductsResponse(products: [])
  }

  func allProducts() async throws -> ProductsResponse {
    state.withLock { $0.looksAtAll += 1 }
    return ProductsResponse(products: [])
  }
}

/// A service whose catalog cannot be read.
private struct Failing: PartialService {
  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    throw ContentError(.serverFailed, "Down", remedy: "Wait")
  }

  func allProducts() async throws -> ProductsResponse { try await products([]) }
}
