import FoundationEssentials
@testable import HostedModel
import HostedTestSupport
import HostedTestTraits
import Testing

/// The queue's indexes, compared with a scan of all records.
@Suite("The queue's indexes")
struct QueueIndexTests {
  @Test("Indexes and turns equal a scan of all records", .slow, arguments: 0..<20)
  func againstAllRecords(seed: UInt64) throws {
    var random = SplitMix(state: seed &+ 1_000)
    var queue = QueueState(activeLimit: 2)
    _ = queue.apply(.launched)
    var seen: Set<TransactionID> = []
    for step in 0..<150 {
      let event = try Sample.event(step: step, queue, &random)
      let before = queue
      let kept = before.transactions
      let decision = queue.apply(event)
      let records = queue.transactions
      // A kept copy does not change, and its contents are found in it.
      #expect(before.transactions == kept)
      #expect(records.map(\.sequence) == records.map(\.sequence).sorted())
      for record in records {
        #expect(queue.transaction(record.id) == record)
        for download in record.downloads { #expect(queue.download(download.id) == download) }
      }
      for gone in seen.subtracting(records.map(\.id)) {
        #expect(queue.transaction(gone) == nil)
        #expect(queue.download(DownloadID(of: gone, number: 1)) == nil)
      }
      seen.formUnion(records.map(\.id))
      try expectTurns(queue, decision, seen)
      // A state created from the records alone has the same indexes.
      if !seen.contains(where: { $0.downloads.contains(where: queue.hasWorker) }) {
        var fresh = QueueState(transactions: records, activeLimit: 2)
        _ = fresh.apply(.launched)
        #expect(fresh.transactions == records)
      }
    }
  }

  /// Checks that no download waits for a free worker, and that workers were assigned in order.
  private func expectTurns(
    _ queue: QueueState, _ decision: QueueDecision, _ seen: Set<TransactionID>
  ) throws {
    let downloads = queue.transactions.flatMap(\.downloads)
    let worked = seen.flatMap(\.downloads).filter(queue.hasWorker)
    #expect(worked.count <= 2)
    let isWaiting = downloads.contains { $0.isRequested }
    // All samples have the same content, so work on one makes the others wait.
    if isWaiting { #expect(!worked.isEmpty) }
    let started = decision.effects.compactMap { effect in
      if case .startWork(let download) = effect { download.id } else { nil }
    }
    if let first = started.first, let place = downloads.firstIndex(where: { $0.id == first }) {
      let earlier = downloads[..<place].filter { $0.isRequested }
      #expect(earlier.isEmpty)
    }
  }

  @Test("A purchase is skipped while a transaction of the same grant is unfinished")
  func sameGrant() throws {
    let foreign = try Sample.grant()
    let own = Grant(
      transactionIdentifier: "t", date: Date(timeIntervalSince1970: 5), payment: foreign.payment,
      receipt: "r")
    for grant in [foreign, own] {
      var queue = QueueState()
      _ = queue.apply(.launched)
      _ = queue.apply(.paymentAdded(transaction: "t", foreign.payment))
      _ = queue.apply(.purchaseAnswered(transaction: "t", .purchased(grant, contents: [])))
      let before = queue
      let again = queue.apply(.granted(transaction: "u", grant, contents: []))
      #expect(again == QueueDecision())
      let restored = queue.apply(
        .restored(transaction: "v", original: grant, contents: [], purpose: .history))
      #expect(restored == QueueDecision())
      #expect(queue == before)
      _ = queue.apply(.finishRequested(transaction: "t"))
      _ = queue.apply(.granted(transaction: "u", grant, contents: []))
      #expect(queue.transactions.map(\.id) == ["u"])
    }
  }

  @Test("A receipt is saved once and not kept in memory")
  func receipt() throws {
    var queue = QueueState()
    let payment = Payment(productIdentifier: ProductIdentifier("a"))
    _ = queue.apply(.paymentAdded(transaction: "t", payment))
    let grant = Grant(
      transactionIdentifier: "g", date: Date(timeIntervalSince1970: 1), payment: payment,
      receipt: "signed")
    let decision = queue.apply(
      .purchaseAnswered(transaction: "t", .purchased(grant, contents: [])))
    guard case .save(let saved) = decision.changes.last else {
      Issue.record("Nothing was saved: \(decision)")
      return
    }
    #expect(saved.grant?.receipt == "signed")
    #expect(queue.transaction("t") == saved.withoutReceipt)
    #expect(queue.transaction("t")?.grant == grant.withoutReceipt)
  }
}

extension TransactionID {
  /// The identifiers of its downloads; a sample has at most two.
  fileprivate var downloads: [DownloadID] { (1...2).map { DownloadID(of: self, number: $0) } }
}
