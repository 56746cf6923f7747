import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Restoring purchases", .timeLimit(.hang))
struct RestoreTests {
  private func identifier(_ text: String) throws -> ProductIdentifier {
    try ProductIdentifier(validating: text)
  }

  /// Buys `products` in the fixture's library with a ledger that can be shared.
  private func buy(_ products: [String], _ fixture: StoreFixture, account: AccountID? = nil)
    async throws
  {
    let queue = try fixture.queue {
      $0.ledgerFile = URL(filePath: fixture.folder.path("ledger.sqlite"))
    }
    let observer = RecordingObserver.delivering(of: queue)
    for product in products {
      queue.add(
        Payment(productIdentifier: try identifier(product), applicationUsername: account))
    }
    await observer.wait { $0.removed.count == products.count }
    queue.close()
  }

  private func second(_ fixture: StoreFixture) throws -> PaymentQueue {
    try fixture.queue {
      $0.library = URL(filePath: fixture.folder.path("second"))
      $0.ledgerFile = URL(filePath: fixture.folder.path("ledger.sqlite"))
    }
  }

  @Test("A second library restores each purchase once, and downloads it only on request")
  func secondLibrary() async throws {
    let fixture = try StoreFixture()
    for name in ["a", "b"] { try fixture.publish(name, "1.0") }
    try await buy(["a", "b", "a"], fixture)
    let queue = try second(fixture)
    let observer = RecordingObserver(of: queue)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.restoreEnds.count == 1 }
    let log = observer.log
    #expect(log.restoreEnds == [nil])
    #expect(log.transactions.count == 2)
    #expect(log.transactions.values.allSatisfy { $0.transactionState == .restored })
    #expect(log.transactions.values.allSatisfy { $0.original?.transactionIdentifier != nil })
    #expect(Set(log.transactions.values.map { $0.transactionIdentifier }).count == 2)
    #expect(log.downloads.values.map(\.state) == [.waiting, .waiting])
    // One is downloaded, the other finished without a download.
    let a = try #require(log.transaction(of: "a"))
    let b = try #require(log.transaction(of: "b"))
    queue.start(a.downloads)
    queue.finishTransaction(b)
    await observer.wait { $0.removed == [b.id] && $0.download(of: "a")?.state == .finished }
    let file = try #require(a.downloads.first?.contentURL).appending(path: "Contents/text.txt")
    #expect(try String(contentsOf: file, encoding: .utf8) == "The text of a 1.0\n")
    #expect(!FileManager.default.fileExists(atPath: fixture.folder.path("second/products/b")))
    queue.close()
  }

  @Test("Each account has its own history, and restoring nothing succeeds")
  func accounts() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    try await buy(["a"], fixture, account: "ann")
    let queue = try second(fixture)
    let observer = RecordingObserver(of: queue)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.restoreEnds.count == 1 }
    #expect(observer.log.transactions.isEmpty)
    queue.restoreCompletedTransactions(withApplicationUsername: "ann")
    await observer.wait { $0.restoreEnds.count == 2 }
    #expect(observer.log.transactions.count == 1)
    #expect(observer.log.restoreEnds == [nil, nil])
  }

  @Test(
    "Restoring again finds unfinished restores, and no consumables or unfinished purchases"
  )
  func again() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    try fixture.store.add(identifier("coins"), details: ProductDetails(type: .consumable))
    try await buy(["a", "coins"], fixture)
    let queue = try second(fixture)
    let observer = RecordingObserver(of: queue)
    let open = queue.add(Payment(productIdentifier: try identifier("a")))
    await observer.wait { $0.transactionStates[open]?.last == .purchased }
    for _ in 0..<2 {
      let ends = observer.log.restoreEnds.count
      queue.restoreCompletedTransactions()
      await observer.wait { $0.restoreEnds.count == ends + 1 }
    }
    // An unfinished restored transaction is found again; after it is finished, a new one is
    // created.
    let restored = { observer.log.transactions.values.filter { $0.original != nil } }
    #expect(restored().map(\.payment.productIdentifier.rawValue) == ["a"])
    let first = try #require(restored().first)
    #expect(observer.log.transactionStates[first.id] == [.restored, .restored])
    queue.finishTransaction(first)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.restoreEnds.count == 3 }
    #expect(restored().count == 2)
  }

  @Test("Non-consumables and auto-renewable subscriptions are restored, other kinds are not")
  func kinds() async throws {
    let fixture = try StoreFixture()
    let types = ProductType.allCases
    for type in types {
      try fixture.store.add(identifier(type.rawValue), details: ProductDetails(type: type))
    }
    try await buy(types.map(\.rawValue), fixture)
    let queue = try second(fixture)
    let observer = RecordingObserver(of: queue)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.restoreEnds.count == 1 }
    let restored = observer.log.transactions.values.map(\.payment.productIdentifier.rawValue)
    #expect(restored.sorted() == ["auto-renewable", "non-consumable"])
  }

  @Test("Purchases found before an error are delivered, and the error comes last")
  func partial() async throws {
    let fixture = try StoreFixture()
    let service = ScriptedService()
    for number in 1...3 { _ = service.grant(try identifier("p\(number)"), "g\(number)") }
    service.failRestore(after: 2, ContentError(.storeMissing, "Gone", remedy: "Wait"))
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.restoreEnds.count == 1 }
    #expect(observer.log.transactions.count == 2)
    #expect(observer.log.restoreEnds.first??.code == .storeMissing)
    #expect(observer.log.calls.last == "restoreFailed")
    // After a failed restore, another one can start.
    queue.restoreCompletedTransactions()
    await observer.wait { $0.restoreEnds.count == 2 }
  }

  @Test("A restore that cannot journal a purchase fails, and finds it the next time")
  func unjournaled() async throws {
    let fixture = try StoreFixture()
    let service = ScriptedService()
    for number in 1...3 { _ = service.grant(try identifier("p\(number)"), "g\(number)") }
    let disk = FullDisk()
    let queue = try fixture.queue {
      $0.service = service
      $0.fileSystem = disk.fileSystem
    }
    disk.set(true)
    let error = await #expect(throws: ContentError.self) { try await queue.restore() }
    #expect(error?.code == .diskFull)
    #expect(queue.transactions.isEmpty)
    disk.set(false)
    #expect(try await queue.restore().count == 3)
  }

  @Test("A second restore meanwhile is refused, and the first one ends")
  func concurrent() async throws {
    let fixture = try StoreFixture()
    let service = ScriptedService()
    _ = service.grant(try identifier("p"), "g")
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    // Submitted together, so the second arrives before the first can end.
    for _ in 0..<20 { queue.restoreCompletedTransactions() }
    await observer.wait { $0.restoreEnds.count + $0.errors.count == 20 }
    #expect(observer.log.errors.allSatisfy { $0.code == .restoreUnderWay })
    #expect(!observer.log.errors.isEmpty)
    #expect(observer.log.restoreEnds.allSatisfy { $0 == nil })
  }

  @Test("Of two concurrent restores, one gets the purchases and the other is refused")
  func twoCallers() async throws {
    let fixture = try StoreFixture()
    let service = ScriptedService()
    _ = service.grant(try identifier("p"), "g")
    // Reports are blocked until both restores are decided.
    let delivery = DispatchQueue(label: "delivery")
    delivery.suspend()
    let queue = try fixture.queue {
      $0.service = service
      $0.deliveryQueue = delivery
    }
    var decided = queue.diagnosticEvents().makeAsyncIterator()
    let callers = (0..<2).map { _ in
      Task { () -> Result<Int, any Error> in
        await Result(catching: { try await queue.restore().count })
      }
    }
    var begun = 0
    while begun < 2, let event = await decided.next() {
      if event.name == "restore begun" { begun += 1 }
    }
    delivery.resume()
    var counts: [Int] = []
    var codes: [ContentError.Code?] = []
    for caller in callers {
      switch await caller.value {
      case .success(let count): counts.append(count)
      case .failure(let error): codes.append((error as? ContentError)?.code)
      }
    }
    #expect(counts == [1])
    #expect(codes == [.restoreUnderWay])
  }
}

extension Result where Failure == any Error {
  fileprivate init(catching body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
