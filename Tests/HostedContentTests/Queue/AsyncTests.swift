import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Async calls without an observer", .timeLimit(.hang))
struct AsyncTests {
  @Test("Deliver buys, installs and finishes, and returns the folders")
  func deliver() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let folders = try await queue.deliver(Payment(productIdentifier: "a"))
    let file = try #require(folders.first).appending(path: "Contents/text.txt")
    #expect(try String(contentsOf: file, encoding: .utf8) == "The text of a 1.0\n")
    #expect(queue.transactions.isEmpty)
    try fixture.publish("a", "1.1")
    let update = try #require(try await queue.availableUpdates().first)
    #expect(try await queue.deliver(update).count == 1)
    try fixture.expectInstalled("a", "1.1")
  }

  @Test("A purchase that fails throws its error and is finished")
  func failure() async throws {
    let fixture = try StoreFixture()
    let queue = try fixture.queue()
    let error = await #expect(throws: ContentError.self) {
      try await queue.deliver(Payment(productIdentifier: "nothing"))
    }
    #expect(error?.code == .productUnknown)
    #expect(queue.transactions.isEmpty)
    // Otherwise a process that ends now would get the error again at its next launch.
    #expect(try fixture.reader().transactions().isEmpty)
  }

  @Test("A failed download throws its error, stays open, and can be installed again")
  func failedDownload() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let away = fixture.folder.path("away")
    let archives = "\(fixture.storePath)/targets/a/1.0"
    try FileManager.default.moveItem(atPath: archives, toPath: away)
    let queue = try fixture.queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    for _ in 0..<2 {
      let error = await #expect(throws: ContentError.self) {
        try await queue.install(transaction)
      }
      #expect(error?.code == .storeMissing)
    }
    #expect(queue.transactions == [transaction])
    try FileManager.default.moveItem(atPath: away, toPath: archives)
    #expect(try await queue.install(transaction).count == 1)
    try await queue.finish(transaction)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("A download's updates start with its current state and end when it is finished")
  func downloadUpdates() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    let download = try #require(transaction.downloads.first)
    let updates = download.updates()
    queue.start([download])
    var states: [DownloadState] = []
    for await update in updates where states.last != update.state {
      states.append(update.state)
      #expect((update.contentURL != nil) == (update.state == .finished))
    }
    #expect(states == [.waiting, .active, .finished])
  }

  @Test("The updates of a download that is finished already end at once")
  func finishedDownloadUpdates() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    _ = try await queue.install(transaction)
    var states: [DownloadState] = []
    for await update in try #require(transaction.downloads.first).updates() {
      states.append(update.state)
    }
    #expect(states == [.finished])
    try await queue.finish(transaction)
  }

  @Test("A cancelled task cancels the download that it started")
  func cancellation() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let gate = Gate()
    let queue = try fixture.queue { $0.fileSystem = gate.fileSystem(closedAt: "/data.bin") }
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    let reports = queue.reports()
    let task = Task { try await queue.install(transaction) }
    await gate.waitUntilReached()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    gate.open()
    for await report in reports {
      if case .downloads(let updates) = report, updates.contains(where: { $0.state == .cancelled })
      {
        break
      }
    }
    #expect(transaction.downloads.map(\.state) == [.cancelled])
    #expect(queue.transactions == [transaction])
  }

  @Test("An update that cannot be journaled fails, even if the error is reported at once", .slow)
  func unjournaledUpdate() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let fails = Atomic(false)
    let queue = try fixture.queue {
      $0.fileSystem = FileSystem { operation, path in
        if operation == .journal, fails.load(ordering: .relaxed) {
          throw FaultPlan.diskFull.about(path)
        }
      }
    }
    _ = try await queue.deliver(Payment(productIdentifier: "a"))
    try fixture.publish("a", "1.1")
    let update = try #require(try await queue.availableUpdates().first)
    fails.store(true, ordering: .relaxed)
    for _ in 0..<200 {
      let error = await #expect(throws: ContentError.self) { try await queue.deliver(update) }
      #expect(error?.code == .diskFull)
    }
    fails.store(false, ordering: .relaxed)
    _ = try await queue.deliver(update)
    try fixture.expectInstalled("a", "1.1")
  }

  @Test("An update that arrives during a restore does not belong to the restore")
  func restoreBesideUpdate() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    _ = try await queue.deliver(Payment(productIdentifier: "a"))
    try fixture.publish("a", "1.1")
    let update = try #require(try await queue.availableUpdates().first)
    async let restored = queue.restore()
    let begun = try await queue.add(update)
    await waitUntil { queue.transactions.contains { $0.id == begun } }
    #expect(try await !restored.contains { $0.id == begun })
    // The update continues, not a restored purchase of the same version.
    _ = try await queue.deliver(update)
    #expect(!queue.transactions.contains { $0.id == begun })
    try fixture.expectInstalled("a", "1.1")
  }

  @Test("Restore returns the transactions, and closing the queue ends every stream")
  func restore() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    _ = try await queue.deliver(Payment(productIdentifier: "a"))
    let restored = try await queue.restore()
    #expect(restored.map(\.payment.productIdentifier.rawValue) == ["a"])
    #expect(try await queue.install(try #require(restored.first)).count == 1)
    let reports = queue.reports()
    queue.close()
    for await _ in reports {}
    for await _ in queue.reports() {}
    await #expect(throws: CancellationError.self) { try await queue.restore() }
  }

  @Test("After close, calls do not wait, and the download is not cancelled")
  func closedQueue() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let payment = Payment(productIdentifier: "a")
    let transaction = try await queue.purchase(payment)
    queue.close()
    await #expect(throws: CancellationError.self) { try await queue.purchase(payment) }
    await #expect(throws: CancellationError.self) { try await queue.install(transaction) }
    await #expect(throws: CancellationError.self) { try await queue.finish(transaction) }
    var states: [DownloadState] = []
    for await update in try #require(transaction.downloads.first).updates() {
      states.append(update.state)
    }
    #expect(states == [.waiting])
    var checks = UpdateMonitor(queue, policy: .notifyOnly).makeAsyncIterator()
    #expect(await checks.next() == nil)
    let next = try fixture.queue()
    #expect(next.transactions.flatMap(\.downloads).map(\.state) == [.waiting])
    next.close()
  }

  @Test("Calls for a removed transaction do not wait")
  func goneTransaction() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    try await queue.finish(transaction)
    try await queue.finish(transaction)
    let error = await #expect(throws: ContentError.self) {
      try await queue.install(transaction)
    }
    #expect(error?.code == .stopped)
    var states: [DownloadState] = []
    for await update in try #require(transaction.downloads.first).updates() {
      states.append(update.state)
    }
    #expect(states == [.cancelled])
  }

  @Test("A late report of an earlier failure does not end a new attempt")
  func lateFailure() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let away = fixture.folder.path("away")
    let archives = "\(fixture.storePath)/targets/a/1.0"
    try FileManager.default.moveItem(atPath: archives, toPath: away)
    let delivery = DispatchQueue(label: "delivery")
    let queue = try fixture.queue { $0.deliveryQueue = delivery }
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    var events = queue.diagnosticEvents().makeAsyncIterator()
    delivery.suspend()
    queue.start(transaction.downloads)
    while let event = await events.next(), event.name != "download failed" {}
    try FileManager.default.moveItem(atPath: away, toPath: archives)
    let folders = Task { try await queue.install(transaction) }
    while let event = await events.next(), event.name != "start requested" {}
    delivery.resume()
    #expect(try await folders.value.count == 1)
  }

  @Test("An update installs the version that was offered when it was found, or fails")
  func outdatedUpdate() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    _ = try await queue.deliver(Payment(productIdentifier: "a"))
    try fixture.publish("a", "1.1")
    let update = try #require(try await queue.availableUpdates().first)
    try fixture.publish("a", "1.2")
    let error = await #expect(throws: ContentError.self) { try await queue.deliver(update) }
    #expect(error?.code == .productUnknown)
    try fixture.expectInstalled("a", "1.0")
  }
}
