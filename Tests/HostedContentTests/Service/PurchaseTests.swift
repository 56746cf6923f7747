import HostedJournal
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// When and how often purchases are sent to the service.
@Suite("Purchase requests", .timeLimit(.hang))
struct PurchaseTests {
  @Test("A payment added before the first observer is sent once, after the observer is added")
  func beforeObserver() async throws {
    let fixture = try StoreFixture()
    let service = GatedService()
    let queue = try fixture.queue { $0.service = service }
    let early = queue.add(Payment(productIdentifier: "a"))
    let observer = RecordingObserver(of: queue)
    let late = queue.add(Payment(productIdentifier: "b"))
    service.open()
    await observer.wait { log in
      [early, late].allSatisfy { log.transactionStates[$0]?.last == .purchased }
    }
    queue.close()
    #expect(service.asked.sorted() == [early, late].sorted())
  }

  @Test("A launch that cannot be journaled still sends open purchases")
  func launchOnFullDisk() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    try await fixture.leaveActiveDownload(of: "a")
    let id = try fixture.leavePurchasing("b")
    let disk = FullDisk()
    let service = GatedService()
    service.open()
    let queue = try fixture.queue {
      $0.fileSystem = disk.fileSystem
      $0.service = service
    }
    disk.set(true)
    let observer = RecordingObserver(of: queue)
    await observer.wait { !$0.errors.isEmpty }
    disk.set(false)
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(service.asked == [id])
  }

  @Test("A closed queue sends no purchases; unsent ones wait for the next launch")
  func closed() async throws {
    let fixture = try StoreFixture()
    let service = GatedService()
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    let ids = try ["a", "b", "c"].map {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: $0)))
    }
    await observer.wait { $0.transactions.count == 3 }
    await service.waitUntilAsked()
    queue.close()
    let asked = service.asked
    service.open()
    // Each at most once, and nothing after that.
    #expect(Set(asked).count == asked.count)
    queue.add(Payment(productIdentifier: "d"))
    let next = GatedService()
    next.open()
    let later = try fixture.queue { $0.service = next }
    let second = RecordingObserver(of: later)
    await second.wait { log in ids.allSatisfy { log.transactionStates[$0]?.last == .purchased } }
    #expect(next.asked.sorted() == ids.sorted())
    #expect(Set(service.asked).isSubset(of: ids))
    withExtendedLifetime(queue) {}
  }
}

/// A service that grants products without content once its gate is open, and counts.
final class GatedService: PartialService {
  private let state = Watched((isOpen: false, asked: [TransactionID]()))

  /// The requested transactions, in order.
  var asked: [TransactionID] { state.value.asked }

  func waitUntilAsked() async { await state.wait { !$0.asked.isEmpty } }

  func open() { state.change { $0.isOpen = true } }

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    state.change { $0.asked.append(order.transaction) }
    await state.wait { $0.isOpen }
    return .purchased(Grant(order.transaction.rawValue, order.payment), contents: [])
  }
}

extension StoreFixture {
  /// Creates a library in which a download of `product` was active when its process ended.
  func leaveActiveDownload(of product: String) async throws {
    let queue = try queue()
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: try ProductIdentifier(validating: product)))
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    queue.close()
    try editJournal { $0.downloads[0].status = .active }
  }

  /// Creates a transaction for `product` in the journal without the service's outcome.
  func leavePurchasing(_ product: String) throws -> TransactionID {
    let payment = Payment(productIdentifier: try ProductIdentifier(validating: product))
    let record = TransactionRecord(
      id: TransactionID(rawValue: "left-\(product)"), sequence: 100, payment: payment,
      status: .purchasing)
    try journal().commit([.save(record)])
    return record.id
  }

  /// Changes every transaction in the journal of a library that no queue uses.
  func editJournal(_ change: (inout TransactionRecord) -> Void) throws {
    let journal = try journal()
    for var record in try journal.transactions() {
      change(&record)
      try journal.commit([.save(record)])
    }
  }

  private func journal() throws -> SQLiteJournal {
    try SQLiteJournal(in: FileSystem.real.directory(at: libraryPath))
  }
}
