import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Several concurrent updates and checks for updates.
@Suite("Concurrent updates", .timeLimit(.hang))
struct ConcurrentUpdateTests {
  @Test("Updates continue while one waits, and are reported in order", .slow)
  func severalAtOnce() async throws {
    let fixture = try StoreFixture()
    let names = ["a", "b", "c", "d", "e"]
    let gate = Gate()
    let queue = try fixture.queue { $0.fileSystem = gate.fileSystem(closedAt: "held.txt") }
    for name in names {
      try fixture.publish(name, "1.0")
      _ = try await queue.deliver(Payment(productIdentifier: ProductIdentifier(validating: name)))
    }
    var files = StoreFixture.files("a", "2.0")
    files["Contents/held.txt"] = Array("Held".utf8)
    try fixture.publish("a", "2.0", files: files)
    for name in names.dropFirst() { try fixture.publish(name, "2.0") }
    // A failed one does not affect the others.
    try FileManager.default.removeItem(atPath: "\(fixture.storePath)/targets/c/2.0")

    let observer = RecordingObserver(of: queue)
    let task = Task { try await UpdateMonitor(queue, policy: .automatic).check() }
    await gate.waitUntilReached()
    await observer.wait { log in
      ["b", "d", "e"].allSatisfy { name in
        log.downloads.values.contains {
          $0.contentIdentifier.rawValue == name && $0.state == .finished
        }
      }
    }
    gate.open()
    let check = try await task.value
    #expect(check.installed.map(\.contentIdentifier.rawValue) == ["a", "b", "d", "e"])
    #expect(check.failures.map(\.update.contentIdentifier.rawValue) == ["c"])
    #expect(check.failures.map(\.error.code) == [.storeMissing])
    queue.close()
    try fixture.expectInstalled("a", "2.0", files: files)
  }

  /// Code that a service runs once, after it has read the catalog.
  private final class Interruption: Sendable {
    private let body = Mutex<(@Sendable () async throws -> Void)?>(nil)

    func set(_ body: @escaping @Sendable () async throws -> Void) {
      self.body.withLock { $0 = body }
    }

    func run() async throws {
      let taken = body.withLock { body in
        defer { body = nil }
        return body
      }
      try await taken?()
    }
  }

  private struct InterruptedService: PartialService {
    let base: any StoreService
    let interruption: Interruption

    func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
      let response = try await base.products(identifiers)
      try await interruption.run()
      return response
    }

    func allProducts() async throws -> ProductsResponse {
      let response = try await base.allProducts()
      try await interruption.run()
      return response
    }
  }

  /// Returns a queue whose service runs the interruption after it has read the catalog.
  private func interruptedQueue(_ fixture: StoreFixture) throws -> (PaymentQueue, Interruption) {
    let interruption = Interruption()
    let queue = try fixture.queue {
      $0.seller = { InterruptedService(base: $0, interruption: interruption) }
    }
    return (queue, interruption)
  }

  @Test("An update that is installed while the catalog is read is not reported again")
  func installedMeanwhile() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let (queue, interruption) = try interruptedQueue(fixture)
    _ = try await queue.deliver(Payment(productIdentifier: "a"))
    try fixture.publish("a", "1.1")
    let update = try #require(try await queue.availableUpdates().first)
    interruption.set { _ = try await queue.deliver(update) }
    let updates = try await queue.availableUpdates()
    #expect(updates.isEmpty)
    queue.close()
    try fixture.expectInstalled("a", "1.1")
  }

  @Test("Content that is bought while the catalog is read is not obsolete")
  func boughtMeanwhile() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let (queue, interruption) = try interruptedQueue(fixture)
    interruption.set {
      try fixture.publish("b", "1.0")
      _ = try await queue.deliver(Payment(productIdentifier: "b"))
    }
    let obsolete = try await queue.obsoleteContents()
    #expect(obsolete.isEmpty)
    queue.close()
    try fixture.expectInstalled("b", "1.0")
  }

  @Test("An update that is installed while a reader looks at the versions is not reported")
  func installedWhileReading() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    _ = try await queue.deliver(Payment(productIdentifier: "a"))
    try fixture.publish("a", "1.1")
    let products = try await queue.products(["a"]).products
    let gate = Gate()
    let reader = try LibraryReader(
      URL(filePath: fixture.libraryPath),
      fileSystem: gate.fileSystem { operation, path in
        operation == .read && path.hasSuffix("/products/a/current")
      })
    let found = Task { try await onOwnThread { try reader.updates(of: products) } }
    await gate.waitUntilReached()
    for update in try await queue.availableUpdates() { _ = try await queue.deliver(update) }
    gate.open()
    let updates = try await found.value
    #expect(updates.isEmpty && !gate.hasGivenUp)
    queue.close()
  }

  /// A service whose catalog is delayed until the test allows it.
  private final class StalledService: PartialService {
    private typealias Waiting = [CheckedContinuation<Void, Never>]
    private let state = Mutex((looks: 0, waiting: Waiting(), isOpen: false))
    private let (reached, reach) = AsyncStream.makeStream(of: Void.self)

    var looks: Int { state.withLock { $0.looks } }

    func waitUntilAsked() async { for await _ in reached { return } }

    func open() {
      let waiting = state.withLock { state in
        state.isOpen = true
        return state.waiting
      }
      waiting.forEach { $0.resume() }
    }

    func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          state.looks += 1
          if !state.isOpen { state.waiting.append(continuation) }
          return state.isOpen
        }
        reach.yield()
        if isOpen { continuation.resume() }
      }
      return ProductsResponse(products: [])
    }
  }

  @Test("A check that is cancelled while it waits for another ends at once and does not run")
  func cancelled() async throws {
    let fixture = try StoreFixture()
    let service = StalledService()
    let queue = try fixture.queue { $0.service = service }
    let monitor = UpdateMonitor(queue, policy: .notifyOnly)
    let first = Task { try await monitor.check() }
    await service.waitUntilAsked()
    let (second, third) = (Task { try await monitor.check() }, Task { try await monitor.check() })
    for _ in 0..<2 {
      let early = Task { try await monitor.check() }
      early.cancel()
      await #expect(throws: CancellationError.self) { try await early.value }
    }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    #expect(service.looks == 1)
    service.open()
    _ = try await first.value
    _ = try await third.value
    #expect(service.looks == 2)
    queue.close()
  }
}
