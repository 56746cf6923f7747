import FoundationEssentials
import HostedModel
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("The queue's state machine, by scenario")
struct QueueStateTests {
  @Test("A payment is reported as purchasing and then sent")
  func payment() throws {
    var queue = QueueState()
    _ = queue.apply(.launched)
    let payment = Payment(productIdentifier: ProductIdentifier("a"))
    let decision = queue.apply(.paymentAdded(transaction: "t", payment))
    let record = try #require(queue.transaction("t"))
    #expect(record.state == .purchasing)
    #expect(decision.changes == [.add(record)])
    #expect(
      decision.effects == [
        .reportTransactions([record]), .purchase(transaction: "t", payment),
      ])
  }

  @Test("A known transaction identifier is refused with an error and changes nothing")
  func knownIdentifier() throws {
    var queue = QueueState(transactions: [try Sample.transaction(.purchased)])
    _ = queue.apply(.launched)
    let other = Payment(productIdentifier: ProductIdentifier("b"))
    let grant = Grant(
      transactionIdentifier: "n", date: Date(timeIntervalSince1970: 0), payment: other)
    let events: [QueueEvent] = [
      .paymentAdded(transaction: "t", other),
      .restored(transaction: "t", original: grant, contents: [], purpose: .history),
      .restored(
        transaction: "t", original: grant, contents: [], purpose: .update(switching: true)),
      .granted(transaction: "t", grant, contents: []),
    ]
    for event in events {
      let before = queue
      let decision = queue.apply(event)
      #expect(queue == before)
      #expect(decision.changes.isEmpty)
      guard case .refuse(let error) = decision.effects.first, decision.effects.count == 1 else {
        Issue.record("It was not refused: \(event), \(decision)")
        continue
      }
      #expect(error.code == .transactionExists)
      #expect(error.subject == "t")
    }
  }

  @Test("A payment out of range fails without a request", arguments: [0, 11, -1])
  func badQuantity(quantity: Int) throws {
    var queue = QueueState()
    let payment = Payment(productIdentifier: ProductIdentifier("a"), quantity: quantity)
    let decision = queue.apply(.paymentAdded(transaction: "t", payment))
    #expect(queue.transaction("t")?.state == .failed)
    #expect(queue.transaction("t")?.error?.code == .paymentInvalid)
    #expect(decision.effects == [.reportTransactions([try #require(queue.transaction("t"))])])
  }

  @Test("Finishing early cancels the downloads and discards their data after the work ends")
  func finishEarly() throws {
    var queue = try Sample.queue(download: .active)
    let decision = queue.apply(.finishRequested(transaction: "t"))
    #expect(queue.transactions.isEmpty)
    #expect(queue.hasWorker("t-1"))
    #expect(decision.effects.contains(.stopWork(download: "t-1")))
    #expect(!decision.effects.contains(.discardStaging(download: "t-1")))
    guard case .reportRemoved(let removed) = decision.effects.first else {
      Issue.record("The removal was not reported: \(decision)")
      return
    }
    #expect(removed.first?.downloads.first?.state == .cancelled)
    let end = queue.apply(.workEnded(download: "t-1", .stopped))
    #expect(end.effects == [.discardStaging(download: "t-1")])
    #expect(!queue.hasWorker("t-1"))
  }

  @Test("A failed download keeps its transaction open and its data, and can be started again")
  func failedStartsAgain() throws {
    var queue = try Sample.queue(download: .failed)
    #expect(queue.transaction("t")?.state == .purchased)
    let decision = queue.apply(.startRequested(downloads: ["t-1"]))
    #expect(queue.download("t-1")?.state == .active)
    #expect(queue.download("t-1")?.error == nil)
    #expect(!decision.effects.contains(.discardStaging(download: "t-1")))
  }

  @Test("A cancelled download that is started again waits for the end of its old work")
  func restartWhileStopping() throws {
    var queue = try Sample.queue(download: .active)
    _ = queue.apply(.cancelRequested(downloads: ["t-1"]))
    let restart = queue.apply(.startRequested(downloads: ["t-1"]))
    #expect(queue.download("t-1")?.state == .waiting)
    #expect(!restart.effects.contains { $0.isStartOfWork })
    let end = queue.apply(.workEnded(download: "t-1", .stopped))
    let discard = try #require(end.effects.firstIndex(of: .discardStaging(download: "t-1")))
    let start = try #require(end.effects.firstIndex { $0.isStartOfWork })
    #expect(discard < start)
    #expect(queue.download("t-1")?.state == .active)
  }

  @Test("Downloads run in the queue's order, up to the limit")
  func activeLimit() throws {
    let transactions = try (1...5).map {
      try Sample.transaction(
        .purchased, id: "t\($0)", sequence: $0, download: .waiting, product: "p\($0)")
    }
    var queue = QueueState(transactions: transactions, activeLimit: 2)
    _ = queue.apply(.launched)
    _ = queue.apply(.startRequested(downloads: ["t3-1", "t5-1", "t1-1", "t2-1"]))
    func states() -> [DownloadState] { queue.transactions.compactMap { $0.downloads.first?.state } }
    #expect(
      states() == [.waiting, .waiting, .active, .waiting, .active]
        || states() == [.active, .active, .waiting, .waiting, .waiting])
    _ = queue.apply(
      .workEnded(
        download: queue.transactions.first { $0.downloads[0].state == .active }?.downloads[0].id
          ?? "", .installed))
    #expect(states().filter { $0 == .active }.count == 2)
    #expect(queue.download("t4-1")?.state == .waiting)
    _ = queue.apply(.activeLimitChanged(4))
    #expect(states().filter { $0 == .active }.count == 3)
  }

  @Test(
    "A higher priority starts first and is bounded, and changes a worker's transfers")
  func priorities() throws {
    let transactions = try (1...4).map {
      try Sample.transaction(
        .purchased, id: "t\($0)", sequence: $0, download: .waiting, product: "p\($0)")
    }
    var queue = QueueState(transactions: transactions, activeLimit: 1)
    _ = queue.apply(.launched)
    _ = queue.apply(.startRequested(downloads: ["t1-1", "t2-1", "t3-1", "t4-1"]))
    let raised = queue.apply(.priorityChanged(downloads: ["t3-1", "t1-1"], 5_000))
    #expect(
      raised.effects == [
        .setPriority(download: "t3-1", 1000), .setPriority(download: "t1-1", 1000),
      ])
    #expect(raised.changes.isEmpty)
    _ = queue.apply(.priorityChanged(downloads: ["t2-1"], -1))
    var order: [DownloadID] = ["t1-1"]
    for _ in 0..<3 {
      let decision = queue.apply(.workEnded(download: order.last ?? "", .installed))
      for case .startWork(let download) in decision.effects { order.append(download.id) }
    }
    #expect(order == ["t1-1", "t3-1", "t4-1", "t2-1"])
  }

  @Test("Downloads of the same content run one at a time")
  func sameContent() throws {
    var queue = QueueState(transactions: [
      try Sample.transaction(.purchased, id: "t1", sequence: 1, download: .waiting),
      try Sample.transaction(.purchased, id: "t2", sequence: 2, download: .waiting),
      try Sample.transaction(.purchased, id: "t3", sequence: 3, download: .waiting, product: "b"),
    ])
    _ = queue.apply(.launched)
    _ = queue.apply(.startRequested(downloads: ["t1-1", "t2-1", "t3-1"]))
    func states() -> [DownloadState] { queue.transactions.compactMap { $0.downloads.first?.state } }
    #expect(states() == [.active, .waiting, .active])
    // A stopping worker, or one without transaction, may still be installing.
    _ = queue.apply(.finishRequested(transaction: "t1"))
    #expect(states() == [.waiting, .active])
    _ = queue.apply(.workEnded(download: "t1-1", .installed))
    #expect(states() == [.active, .active])
  }

  @Test("An install also finishes waiting downloads of the same version in one decision")
  func sameVersion() throws {
    var transactions = try (1...5).map {
      try Sample.transaction(.purchased, id: "t\($0)", sequence: $0, download: .waiting)
    }
    // An update that keeps the current version, and another version.
    transactions[2].downloads[0].keepsCurrent = true
    transactions[3].downloads[0].offer = try Sample.offer(version: "9.0")
    var queue = QueueState(transactions: transactions, activeLimit: 1)
    _ = queue.apply(.launched)
    // The last one was not started.
    _ = queue.apply(.startRequested(downloads: (1...4).map { DownloadID(rawValue: "t\($0)-1") }))
    let decision = queue.apply(.workEnded(download: "t1-1", .installed))
    let states = queue.transactions.compactMap { $0.downloads.first?.state }
    #expect(states == [.finished, .finished, .active, .waiting, .waiting])
    #expect(decision.effects.contains(.discardStaging(download: "t2-1")))
    #expect(decision.changes.count == 3)
  }

  @Test("At a launch everything unfinished is reported, and active downloads continue")
  func launch() throws {
    var queue = QueueState(transactions: [
      try Sample.transaction(.purchasing, id: "a", sequence: 1),
      try Sample.transaction(.purchased, id: "b", sequence: 2, download: .active),
      try Sample.transaction(.purchased, id: "c", sequence: 3, download: .waiting),
      try Sample.transaction(.purchased, id: "d", sequence: 4, download: .finished),
    ])
    let decision = queue.apply(.launched)
    #expect(decision.effects.first == .reportEverything(queue.transactions))
    #expect(decision.effects.contains { if case .purchase("a", _) = $0 { true } else { false } })
    #expect(queue.download("b-1")?.state == .active)
    #expect(queue.hasWorker("b-1"))
    #expect(queue.download("c-1")?.state == .waiting)
    #expect(decision.effects.filter(\.isStartOfWork).count == 1)
  }

  @Test("Before the launch nothing is sent or started, and the launch does both once")
  func beforeLaunch() throws {
    var waiting = try Sample.transaction(.purchased, id: "w", download: .waiting)
    waiting.downloads[0].status = .waiting(isRequested: true)
    var queue = QueueState(transactions: [waiting])
    let payment = Payment(productIdentifier: ProductIdentifier("b"))
    let early = queue.apply(.paymentAdded(transaction: "t", payment))
    #expect(early.changes.count == 1)
    #expect(early.effects == [.reportTransactions([try #require(queue.transaction("t"))])])
    let launch = queue.apply(.launched)
    #expect(
      launch.effects.filter { $0 == .purchase(transaction: "t", payment) }.count == 1)
    #expect(launch.effects.filter(\.isStartOfWork).count == 1)
  }

  @Test("A restore that is requested before the launch begins with the launch, once")
  func earlyRestore() {
    var queue = QueueState()
    let early = queue.apply(.restoreRequested(request: "x", account: "ada"))
    #expect(early.changes.isEmpty && early.effects.isEmpty)
    let restore = QueueEffect.restore(request: "x", account: "ada")
    let launch = queue.apply(.launched)
    #expect(launch.effects == [.reportEverything([]), restore])
    let again = queue.apply(.launched)
    #expect(!again.effects.contains(restore))
  }

  @Test("A deferred purchase is sent again at a launch, to get its decision")
  func deferredLaunch() throws {
    var queue = QueueState(transactions: [try Sample.transaction(.deferred)])
    let launch = queue.apply(.launched)
    #expect(launch.effects.contains { if case .purchase("t", _) = $0 { true } else { false } })
    #expect(queue.transaction("t")?.state == .deferred)
    _ = queue.apply(
      .purchaseAnswered(transaction: "t", .purchased(try Sample.grant(), contents: [])))
    #expect(queue.transaction("t")?.state == .purchased)
  }

  @Test("A restored transaction has its original and waiting downloads")
  func restored() throws {
    var queue = QueueState()
    let decision = queue.apply(
      .restored(
        transaction: "r", original: try Sample.grant(), contents: [try Sample.offer()],
        purpose: .history))
    let record = try #require(queue.transaction("r"))
    #expect(record.state == .restored)
    #expect(record.original == (try Sample.grant()))
    #expect(record.grant?.transactionIdentifier == "r")
    #expect(record.downloads.map(\.state) == [.waiting])
    #expect(
      decision.effects == [.reportTransactions([record]), .reportDownloads(["r-1"], of: [record])])
  }

  @Test("A restore lists a purchase once that the history has twice")
  func repeatedPurchase() throws {
    var queue = QueueState()
    _ = queue.apply(.restoreRequested(request: "x", account: nil))
    for id: TransactionID in ["r", "s"] {
      _ = queue.apply(
        .restored(transaction: id, original: try Sample.grant(), contents: [], purpose: .history))
    }
    let decision = queue.apply(.restoreEnded(request: "x", nil))
    let found = decision.effects.compactMap { effect -> [TransactionRecord]? in
      if case .reportRestoreEnded(_, let found) = effect { found } else { nil }
    }
    let record = try #require(queue.transaction("r"))
    #expect(found == [[record]])
  }

  @Test(
    "Any sequence of events keeps the invariants", .slow, arguments: 0..<UInt64(200))
  func randomSequences(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var queue = QueueState(activeLimit: 2)
    _ = queue.apply(.launched)
    var finished: Set<TransactionID> = []
    for step in 0..<120 {
      let event = try Sample.event(step: step, queue, &random)
      let before = queue
      let decision = queue.apply(event)
      // Work starts and ends in pairs, within the limit, and only for active downloads.
      let started = decision.effects.filter(\.isStartOfWork).count
      let active = queue.transactions.flatMap(\.downloads).filter { $0.state == .active }
      #expect(active.count <= 2)
      #expect(
        active.allSatisfy { queue.hasWorker($0.id) || before.download($0.id)?.state == .active })
      #expect(started <= 2)
      // Each transaction is removed once.
      for case .finish(let record) in decision.changes {
        #expect(finished.insert(record.id).inserted)
      }
      // Every change is journaled.
      for record in queue.transactions where before.transaction(record.id) != record {
        #expect(
          decision.changes.compactMap(\.savedRecord).contains(record),
          "step \(step) of seed \(seed): \(event)")
      }
      // Finished downloads stay finished, and have no error; failed ones have one.
      for download in queue.transactions.flatMap(\.downloads) {
        if before.download(download.id)?.state == .finished { #expect(download.state == .finished) }
        #expect((download.error != nil) == (download.state == .failed))
      }
    }
  }
}

extension QueueEffect {
  var isStartOfWork: Bool { if case .startWork = self { true } else { false } }
}
