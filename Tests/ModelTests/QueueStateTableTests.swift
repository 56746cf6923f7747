@testable import HostedModel
import Testing

/// Every state of a transaction and a download with every event.
@Suite("The queue's state machine, state by state")
struct QueueStateTableTests {
  // MARK: Downloads

  enum DownloadRequest: String, CaseIterable, Sendable {
    case start, pause, resume, cancel

    func event(_ id: DownloadID) -> QueueEvent {
      switch self {
      case .start: .startRequested(downloads: [id])
      case .pause: .pauseRequested(downloads: [id])
      case .resume: .resumeRequested(downloads: [id])
      case .cancel: .cancelRequested(downloads: [id])
      }
    }
  }

  /// The resulting state of each request; nil means no change and no error.
  static let table: [(DownloadState, DownloadRequest, DownloadState?)] = [
    (.waiting, .start, .active), (.waiting, .pause, .paused), (.waiting, .resume, nil),
    (.waiting, .cancel, .cancelled),
    (.active, .start, nil), (.active, .pause, .paused), (.active, .resume, nil),
    (.active, .cancel, .cancelled),
    (.paused, .start, .active), (.paused, .pause, nil), (.paused, .resume, .active),
    (.paused, .cancel, .cancelled),
    (.finished, .start, nil), (.finished, .pause, nil), (.finished, .resume, nil),
    (.finished, .cancel, nil),
    (.failed, .start, .active), (.failed, .pause, nil), (.failed, .resume, .active),
    (.failed, .cancel, .cancelled),
    (.cancelled, .start, .active), (.cancelled, .pause, nil), (.cancelled, .resume, nil),
    (.cancelled, .cancel, nil),
  ]

  @Test("The table has every state and every request once")
  func tableIsComplete() {
    let pairs = Set(Self.table.map { "\($0.0) \($0.1)" })
    #expect(pairs.count == DownloadState.allCases.count * DownloadRequest.allCases.count)
    #expect(Self.table.count == pairs.count)
  }

  @Test("A request changes a download as in the table", arguments: table.indices)
  func request(row: Int) throws {
    let (state, request, expected) = Self.table[row]
    var queue = try Sample.queue(download: state)
    let before = queue
    let decision = queue.apply(request.event("t-1"))
    #expect(queue.download("t-1")?.state == expected ?? state)
    if expected == nil {
      #expect(queue == before)
      #expect(decision == QueueDecision())
    } else {
      #expect(decision.changes.count == 1)
      #expect(decision.effects.contains(.reportDownloads(["t-1"], of: queue.transactions)))
    }
  }

  @Test(
    "A request on a failed or pending purchase changes nothing",
    arguments: [TransactionState.purchasing, .failed, .deferred], DownloadRequest.allCases)
  func requestWithoutPurchase(state: TransactionState, request: DownloadRequest) throws {
    var queue = QueueState(transactions: [try Sample.transaction(state, download: .waiting)])
    _ = queue.apply(request.event("t-1"))
    #expect(queue.download("t-1")?.state != .active)
  }

  @Test("Events with unknown identifiers change nothing")
  func unknownNames() throws {
    var queue = try Sample.queue(download: .active)
    let before = queue
    let events: [QueueEvent] = [
      .startRequested(downloads: ["x"]), .pauseRequested(downloads: ["x"]),
      .resumeRequested(downloads: ["x"]), .cancelRequested(downloads: ["x"]),
      .finishRequested(transaction: "x"), .workEnded(download: "x", .installed),
      .purchaseAnswered(transaction: "x", .deferred),
    ]
    for event in events { #expect(queue.apply(event) == QueueDecision()) }
    #expect(queue == before)
  }

  static let ends: [(DownloadState, WorkResult, DownloadState)] = [
    (.active, .installed, .finished), (.active, .failed(Sample.error), .failed),
    (.active, .stopped, .active),  // at once, since nothing else waits
    (.paused, .installed, .finished), (.paused, .failed(Sample.error), .paused),
    (.paused, .stopped, .paused),
    (.cancelled, .installed, .cancelled), (.cancelled, .failed(Sample.error), .cancelled),
    (.cancelled, .stopped, .cancelled),
  ]

  @Test(
    "The end of work leads to the state in the table, even after a pause or cancel",
    arguments: ends.indices)
  func endOfWork(row: Int) throws {
    let (state, result, expected) = Self.ends[row]
    var queue = try Sample.queue(download: .active)
    if state == .paused { _ = queue.apply(.pauseRequested(downloads: ["t-1"])) }
    if state == .cancelled { _ = queue.apply(.cancelRequested(downloads: ["t-1"])) }
    let decision = queue.apply(.workEnded(download: "t-1", result))
    #expect(queue.download("t-1")?.state == expected)
    #expect(queue.hasWorker("t-1") == (expected == .active))
    #expect((queue.download("t-1")?.error != nil) == (expected == .failed))
    #expect(decision.effects.contains(.discardStaging(download: "t-1")) == (state == .cancelled))
  }

  // MARK: Transactions

  enum Answer: CaseIterable, Sendable { case purchased, failed, deferred }

  static let answers: [(TransactionState, Answer, TransactionState)] = [
    (.purchasing, .purchased, .purchased), (.purchasing, .failed, .failed),
    (.purchasing, .deferred, .deferred),
    (.deferred, .purchased, .purchased), (.deferred, .failed, .failed),
    (.deferred, .deferred, .deferred),
    (.purchased, .purchased, .purchased), (.purchased, .failed, .purchased),
    (.purchased, .deferred, .purchased),
    (.failed, .purchased, .failed), (.failed, .failed, .failed), (.failed, .deferred, .failed),
    (.restored, .purchased, .restored), (.restored, .failed, .restored),
    (.restored, .deferred, .restored),
  ]

  @Test("The service's response changes only pending transactions", arguments: answers.indices)
  func answer(row: Int) throws {
    let (state, answer, expected) = Self.answers[row]
    var queue = QueueState(transactions: [try Sample.transaction(state)])
    let outcome: PurchaseOutcome =
      switch answer {
      case .purchased: .purchased(try Sample.grant(), contents: [try Sample.offer()])
      case .failed: .failed(Sample.error)
      case .deferred: .deferred
      }
    let decision = queue.apply(.purchaseAnswered(transaction: "t", outcome))
    #expect(queue.transaction("t")?.state == expected)
    #expect(decision.changes.isEmpty == (state == expected))
  }

  @Test(
    "Finishing removes purchased, failed and restored transactions, and refuses others",
    arguments: TransactionState.allCases)
  func finish(state: TransactionState) throws {
    var queue = QueueState(transactions: [try Sample.transaction(state)])
    let record = try #require(queue.transaction("t"))
    let decision = queue.apply(.finishRequested(transaction: "t"))
    switch state {
    case .purchasing, .deferred:
      #expect(queue.transaction("t") == record)
      #expect(decision.changes.isEmpty)
      guard case .refuse(let error) = decision.effects.first else {
        Issue.record("It was not refused")
        return
      }
      #expect(error.code == .cannotFinish)
    case .purchased, .failed, .restored:
      #expect(queue.transactions.isEmpty)
      #expect(decision.changes == [.finish(record)])
      #expect(decision.effects == [.reportRemoved([record])])
    }
  }
}
