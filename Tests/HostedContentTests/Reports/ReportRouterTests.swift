import HostedModel
import Testing

@testable import HostedContent

/// Which calls receive which reports.
@Suite("Reports for waiting calls")
struct ReportRouterTests {
  private let router = ReportRouter()
  private let library = ReportLibrary(productsPath: "/products", journal: NoJournal())

  private func transaction(_ id: TransactionID, sequence: Int = 1) throws -> PaymentTransaction {
    let record = TransactionRecord(
      id: id, sequence: sequence,
      payment: Payment(productIdentifier: "a"), status: .purchasing)
    return PaymentTransaction(report: TransactionReport(record, in: library))
  }

  /// Returns the reports of `stream`, which must have ended.
  private func reports(_ stream: AsyncStream<StreamSignal>) async -> [String] {
    var found: [String] = []
    for await case .report(let report) in stream {
      switch report {
      case .transactions(let transactions): found += transactions.map { "transaction \($0.id)" }
      case .removed(let transactions): found += transactions.map { "removed \($0.id)" }
      case .failure(let error): found.append("failure \(error.subject ?? "")")
      case .restoreEnded(let result): found.append("restored \(result.identifier)")
      case .downloads: found.append("downloads")
      }
    }
    return found
  }

  @Test("Each of a thousand calls gets only its own of a thousand reports")
  func routing() async throws {
    let ids = (0..<1_000).map { TransactionID(rawValue: "t\($0)") }
    let streams = ids.map { router.signals(about: $0).stream }
    let transactions = try ids.map { try transaction($0) }
    router.send(.transactions(transactions))
    router.send(.removed(transactions))
    for id in ids {
      router.send(
        .failure(ContentError(.stopped, "It failed", remedy: "Try again", subject: id.rawValue)))
      router.send(
        .restoreEnded(
          RestoreResult(identifier: RestoreID(rawValue: id.rawValue), transactions: [], error: nil))
      )
    }
    router.finish()
    for (id, stream) in zip(ids, streams) {
      let found = await reports(stream)
      #expect(found == ["transaction \(id)", "removed \(id)", "failure \(id)", "restored \(id)"])
    }
  }

  @Test(
    "Two calls that wait for the same transaction both get its reports until they end")
  func sameTransaction() async throws {
    let first = router.signals(about: TransactionID("t"))
    let second = router.signals(about: TransactionID("t"))
    router.send(.transactions([try transaction("t")]))
    first.sender.finish()
    router.send(.removed([try transaction("t")]))
    router.finish()
    #expect(await reports(first.stream) == ["transaction t"])
    #expect(await reports(second.stream) == ["transaction t", "removed t"])
  }

  @Test("A call after closing ends at once")
  func closed() async throws {
    router.close()
    #expect(await reports(router.signals(about: TransactionID("t")).stream).isEmpty)
  }

  @Test("Unfinished transactions stay in the queue's order after late reports and removals")
  func order() throws {
    var unfinished = UnfinishedReports([], in: library)
    for sequence in [1, 2, 5, 3, 9, 4] {
      unfinished.add(
        try transaction(TransactionID(rawValue: "t\(sequence)"), sequence: sequence).report)
    }
    #expect(unfinished.transactions.map(\.id) == ["t1", "t2", "t3", "t4", "t5", "t9"])
    for id: TransactionID in ["t9", "t1", "t4"] { unfinished.remove(id) }
    unfinished.add(try transaction("t7", sequence: 7).report)
    unfinished.remove("t2")
    unfinished.add(try transaction("t2", sequence: 2).report)
    #expect(unfinished.transactions.map(\.id) == ["t2", "t3", "t5", "t7"])
  }
}
