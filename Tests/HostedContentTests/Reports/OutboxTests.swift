import HostedModel
import Dispatch
import Testing

@testable import HostedContent

/// The order of reports, with simulated times.
@Suite("Pending reports")
struct OutboxTests {
  private static let soon = DispatchTime(uptimeNanoseconds: 1_000)
  private static let later = DispatchTime(uptimeNanoseconds: 2_000)

  private func record(_ id: TransactionID) throws -> TransactionRecord {
    TransactionRecord(
      id: id, sequence: 1, payment: Payment(productIdentifier: "a"), status: .purchasing)
  }

  private func putChanges(_ id: TransactionID, _ due: DispatchTime, _ outbox: inout Outbox) throws {
    outbox.put(
      .changes(WaitingReports([DownloadID(of: id, number: 1)], of: [try record(id)])), of: [id],
      due: due)
  }

  private func putRemoved(_ id: TransactionID, _ outbox: inout Outbox) throws {
    outbox.put(.removed([try record(id)]), of: [id], due: Self.soon)
  }

  /// Returns each notification as its kind and its transactions.
  private func take(_ outbox: inout Outbox, at now: DispatchTime = soon) -> [String] {
    outbox.take(at: now).map { notification in
      switch notification {
      case .transactions(let records): "transactions \(records.map(\.id.rawValue))"
      case .changes(let reports):
        "changes \(reports.calls.map { $0.downloads.map(\.rawValue).sorted() })"
      case .removed(let records): "removed \(records.map(\.id.rawValue))"
      case .calls(let bodies): "\(bodies.count) calls"
      }
    }
  }

  @Test("Changes of many downloads share a call despite removals of others in between")
  func sharing() throws {
    var outbox = Outbox()
    for number in 1...3 {
      try putChanges(TransactionID(rawValue: "t\(number)"), Self.later, &outbox)
      try putRemoved(TransactionID(rawValue: "u\(number)"), &outbox)
    }
    #expect(outbox.nextDue == Self.soon)
    #expect(take(&outbox) == [#"removed ["u1", "u2", "u3"]"#])
    #expect(outbox.nextDue == Self.later)
    #expect(take(&outbox, at: Self.later) == [#"changes [["t1-1", "t2-1", "t3-1"]]"#])
    #expect(outbox.nextDue == nil)
  }

  @Test("Pending reports of a transaction are delivered with its urgent report")
  func order() throws {
    var outbox = Outbox()
    try putChanges("t", Self.later, &outbox)
    try putRemoved("t", &outbox)
    #expect(take(&outbox) == [#"changes [["t-1"]]"#, #"removed ["t"]"#])
  }

  @Test("Only the newest progress is reported, together with the state")
  func progress() throws {
    var outbox = Outbox()
    func putProgress(_ fraction: Double) {
      outbox.put(
        .changes(
          WaitingReports(
            progress: ["t-1": DownloadProgress(fraction: fraction, timeRemaining: 1)])), of: ["t"],
        due: Self.later)
    }
    putProgress(0.1)
    putProgress(0.2)
    try putChanges("t", Self.later, &outbox)
    putProgress(0.5)
    putProgress(0.6)
    try putChanges("t", Self.later, &outbox)
    putProgress(0.7)
    guard case .changes(let reports) = try #require(outbox.take(at: Self.later).first) else {
      Issue.record("no changes")
      return
    }
    #expect(reports.calls.map(\.downloads) == [["t-1"], ["t-1"]])
    #expect(reports.calls.map { $0.progress["t-1"]?.fraction } == [0.6, 0.7])
  }

  @Test("A change is not delivered before earlier reports of its transaction")
  func noOvertaking() throws {
    var outbox = Outbox()
    try putChanges("t", Self.later, &outbox)
    outbox.put(.transactions([try record("t")]), of: ["t"], due: Self.later)
    try putChanges("t", Self.later, &outbox)
    #expect(
      take(&outbox, at: Self.later) == [
        #"changes [["t-1"]]"#, #"transactions ["t"]"#, #"changes [["t-1"]]"#,
      ])
  }

  @Test("Each state of a transaction has its own call")
  func states() throws {
    var outbox = Outbox()
    for id: TransactionID in ["t", "u", "t"] {
      outbox.put(.transactions([try record(id)]), of: [id], due: Self.soon)
    }
    #expect(take(&outbox) == [#"transactions ["t", "u"]"#, #"transactions ["t"]"#])
  }

  @Test("Pending reports are delivered before a call, and later ones after it")
  func calls() throws {
    var outbox = Outbox()
    try putChanges("t", Self.later, &outbox)
    outbox.put(.calls([{}]), of: [], due: Self.soon)
    try putChanges("u", Self.later, &outbox)
    #expect(take(&outbox) == [#"changes [["t-1"]]"#, "1 calls"])
    #expect(take(&outbox, at: Self.later) == [#"changes [["u-1"]]"#])
  }

  @Test("A call about one transaction waits only for its reports, which share a notification")
  func callsAboutOne() throws {
    var outbox = Outbox()
    try putChanges("t", Self.later, &outbox)
    try putChanges("u", Self.later, &outbox)
    for id: TransactionID in ["v", "w"] { outbox.put(.calls([{}]), of: [id], due: Self.soon) }
    #expect(take(&outbox) == ["2 calls"])
    outbox.put(.calls([{}]), of: ["t"], due: Self.soon)
    #expect(take(&outbox) == [#"changes [["t-1", "u-1"]]"#, "1 calls"])
    #expect(outbox.nextDue == nil)
  }

  @Test("Two changes of one download need two calls")
  func twoChanges() throws {
    var outbox = Outbox()
    for id: TransactionID in ["t", "t", "u"] { try putChanges(id, Self.later, &outbox) }
    #expect(take(&outbox, at: Self.later) == [#"changes [["t-1", "u-1"], ["t-1"]]"#])
  }
}
