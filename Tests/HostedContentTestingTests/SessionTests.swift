import Foundation
import HostedContentTesting
import HostedTestTraits
import Testing

@Suite("A store session for tests", .timeLimit(.hang))
struct SessionTests {
  @Test("A published product is bought over HTTP and installed, and a new version is an update")
  func publish() async throws {
    let session = try StoreSession()
    try session.publish("book", files: ["a/b.txt": [1, 2, 3]])
    let queue = try session.launch()
    let folders = try await queue.deliver(Payment("book"))
    let file = folders[0].appending(path: "Contents/a/b.txt")
    #expect(try Array(Data(contentsOf: file)) == [1, 2, 3])
    #expect(session.requests.contains { $0.contains(".pkg") })
    try session.publish("book", "1.1")
    #expect(try await queue.availableUpdates().map(\.offered.rawValue) == ["1.1"])
  }

  @Test("A monitor checks announced content at once")
  func announced() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let queue = try session.launch()
    _ = try await queue.deliver(Payment("book"))
    let recorder = CallRecorder(delivers: false)
    queue.add(recorder)
    var checks = UpdateMonitor(queue, policy: .notifyOnly).makeAsyncIterator()
    #expect(try await checks.next()?.get().updates.isEmpty == true)
    try session.publish("book", "1.1")
    try session.announceContent()
    #expect(try await checks.next()?.get().updates.map(\.offered) == ["1.1"])
    #expect(recorder.calls.errors.isEmpty)
  }

  @Test("Sessions are independent, and see the same dates in each run")
  func separate() async throws {
    let sessions = [try StoreSession(), try StoreSession()]
    try sessions[0].publish("book")
    var dates: [Date] = []
    for session in sessions {
      try session.publish("other")
      let queue = try session.launch()
      #expect(try await queue.products(["book"]).products.count == (dates.isEmpty ? 1 : 0))
      _ = try await queue.deliver(Payment("other"))
      dates.append(try await queue.grants()[0].date)
    }
    #expect(dates[0] == dates[1] && sessions[0].folder != sessions[1].folder)
  }

  @Test("Reset removes all earlier state")
  func reset() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(
      .fail(ContentError(.notEntitled, "No", remedy: "Pay")), about: "book")
    try session.launch()
    try session.reset()
    #expect(throws: ContentError.self) { try session.announceContent() }
    let now = session.clock.now
    await #expect(throws: ContentError.self) { try await session.advance(by: .seconds(1)) }
    #expect(session.clock.now == now)
    try session.publish("book", "2.0")
    let queue = try session.launch()
    #expect(queue.transactions.isEmpty)
    _ = try await queue.deliver(Payment("book"))
    #expect(
      try await queue.installedVersion(of: ProductIdentifier("book"))?.rawValue == "2.0")
  }

  @Test("The clock is not advanced if the service of a killed engine cannot answer")
  func clockAfterKill() async throws {
    let session = try StoreSession()
    try session.launch()
    session.kill()
    let now = session.clock.now
    await #expect(throws: ContentError.self) { try await session.advance(by: .seconds(1)) }
    #expect(session.clock.now == now)
  }

  @Test("A file that would not be below Contents is refused")
  func pathOutside() throws {
    let session = try StoreSession()
    for path in ["", "/", "../a", "a/./b", "a/.."] {
      let error = #expect(throws: ContentError.self) {
        try session.publish("book", files: [path: []])
      }
      #expect(error?.code == .usage, "\(path)")
    }
  }

  @Test("A session only removes its own files")
  func removal() throws {
    let manager = FileManager.default
    let other = manager.temporaryDirectory.appending(
      path: "hostedcontent-session-\(UUID().uuidString)")
    try manager.createDirectory(at: other, withIntermediateDirectories: false)
    defer { try? manager.removeItem(at: other) }
    var session: StoreSession? = try StoreSession()
    let folder = try #require(session?.folder)
    try Data().write(to: folder.appending(path: "sources"))
    try session?.publish("book")
    #expect(
      try Set(manager.contentsOfDirectory(atPath: folder.path)) == [
        "sources", "store", "store.keys",
      ])
    session = nil
    #expect(!manager.fileExists(atPath: folder.path))
    #expect(manager.fileExists(atPath: other.path))
  }

  @Test("A killed engine writes nothing more, and the next one continues from its files")
  func kill() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setFaults("*.pkg stall 10")
    let queue = try session.launch()
    let transaction = try await queue.purchase(Payment("book"))
    queue.start(transaction.downloads)
    #expect(throws: ContentError.self) { try session.launch() }
    try session.setFaults("")
    let next = try session.relaunch()
    let unfinished = try #require(next.transactions.first)
    #expect(unfinished.id == transaction.id && unfinished.transactionState == .purchased)
    let folders = try await next.install(unfinished)
    try await next.finish(unfinished)
    #expect(folders.count == 1 && next.transactions.isEmpty)
  }

  @Test("A second decision is refused, and does not change the first one")
  func secondDecision() async throws {
    let session = try StoreSession()
    try session.setDecision(.later, about: "book")
    let makeSeller = try #require(session.configuration().seller)
    // The script answers, so this service gets no calls.
    let seller = makeSeller(try HTTPStoreService(url: session.storeURL, token: "none"))
    let order = PurchaseOrder(payment: Payment("book"), transaction: "order")
    _ = try await seller.purchase([order])
    try await session.decline("order")
    await #expect(throws: ContentError.self) { try await session.approve("order") }
    let outcomes = try await seller.purchase([order])
    guard case .failed(let error)? = outcomes.first else {
      Issue.record("The declined payment has the outcome \(outcomes)")
      return
    }
    #expect(error.code == .purchaseDeclined)
  }

  @Test("A storefront is not changed before the first launch")
  func earlyStorefront() async throws {
    let session = try StoreSession()
    #expect(throws: ContentError.self) { try session.changeStorefront(to: "SWE") }
    let makeSeller = try #require(session.configuration().seller)
    let seller = makeSeller(try HTTPStoreService(url: session.storeURL, token: "none"))
    #expect(await seller.storefront()?.countryCode == "USA")
  }

  @Test(
    "A deferred payment waits across launches until the decision",
    arguments: [true, false])
  func askToBuy(isApproved: Bool) async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(.later, about: "book", count: 1)
    var queue = try session.launch()
    var reports = queue.reports().makeAsyncIterator()
    let id = queue.add(Payment("book"))
    try await state(.deferred, of: id, in: &reports)
    queue = try session.relaunch()
    reports = queue.reports().makeAsyncIterator()
    try await state(.deferred, of: id, in: &reports)
    #expect(session.deferredTransactions() == [id])
    if isApproved {
      try await session.approve(id)
      try await state(.purchased, of: id, in: &reports)
    } else {
      try await session.decline(id)
      let transaction = try await state(.failed, of: id, in: &reports)
      #expect(transaction.error?.code == .purchaseDeclined)
    }
    await #expect(throws: ContentError.self) { try await session.approve(id) }
  }

  @Test("A decision and an interruption whose purchase failed can be repeated")
  func repeatedDecision() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(.later, about: "book", count: 1)
    let queue = try session.launch()
    var reports = queue.reports().makeAsyncIterator()
    let id = queue.add(Payment("book"))
    try await state(.deferred, of: id, in: &reports)
    try session.setDecision(.interrupt, about: "book", count: 1)
    await #expect(throws: ContentError.self) { try await queue.purchase(Payment("book")) }
    session.clock.advance(by: .seconds(91 * 86400))
    for _ in 1...2 {
      let failed = await #expect(throws: ContentError.self) { try await session.approve(id) }
      #expect(failed?.code == .metadataExpired)
      let other = await #expect(throws: ContentError.self) {
        try await session.resolveInterruption(of: "book")
      }
      #expect(other?.code == .metadataExpired)
    }
    try session.refreshCatalog()
    try await session.approve(id)
    try await state(.purchased, of: id, in: &reports)
    try await session.resolveInterruption(of: "book")
  }

  /// Waits for the transaction in `state`.
  @discardableResult
  private func state(
    _ state: TransactionState, of id: TransactionID,
    in reports: inout AsyncStream<QueueReport>.Iterator
  ) async throws -> PaymentTransaction {
    while let report = await reports.next() {
      guard case .transactions(let transactions) = report else { continue }
      let found = transactions.first { $0.id == id && $0.transactionState == state }
      if let found { return found }
    }
    throw CancellationError()
  }

  @Test("The given number of payments fail with the given error")
  func failing() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(
      .fail(ContentError(.hostNotFound, "No host", remedy: "Wait")), about: "book", count: 2)
    let queue = try session.launch()
    for _ in 1...2 {
      let error = await #expect(throws: ContentError.self) {
        try await queue.purchase(Payment("book"))
      }
      #expect(error?.code == .hostNotFound)
    }
    _ = try await queue.deliver(Payment("book"))
  }

  @Test("A later decision replaces an earlier one")
  func replacedDecision() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(
      .fail(ContentError(.notEntitled, "No", remedy: "Pay")), about: "book")
    try session.setDecision(.approve, about: "book")
    #expect(try await session.launch().deliver(Payment("book")).count == 1)
  }

  @Test("An interrupted purchase fails, and completes as another transaction after it is resolved")
  func interrupted() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(.interrupt, about: "book")
    let queue = try session.launch()
    let error = await #expect(throws: ContentError.self) {
      try await queue.purchase(Payment("book"))
    }
    #expect(error?.code == .purchaseInterrupted)
    var reports = queue.reports().makeAsyncIterator()
    try await session.resolveInterruption(of: "book")
    while let report = await reports.next() {
      guard case .transactions(let found) = report,
        let purchased = found.first(where: { $0.transactionState == .purchased })
      else { continue }
      #expect(purchased.downloads.count == 1)
      break
    }
    await #expect(throws: ContentError.self) {
      try await session.resolveInterruption(of: "book")
    }
  }

  @Test("Refunded and expired purchases are reported, and not restored")
  func endings() async throws {
    let session = try StoreSession()
    try session.publish("refunded")
    try session.publish("short")
    session.setLifetime(.seconds(3600), of: "short")
    let queue = try session.launch()
    _ = try await queue.deliver(Payment("refunded"))
    _ = try await queue.deliver(Payment("short"))
    let recorder = CallRecorder(delivers: false)
    queue.add(recorder)
    try await session.advance(by: .seconds(3599))
    #expect(try await queue.grants().count == 2)
    try await session.advance(by: .seconds(1))
    try await session.refund("refunded")
    await recorder.wait { $0.revoked.count == 2 }
    #expect(recorder.calls.revoked == ["short", "refunded"])
    #expect(try await queue.grants().isEmpty)
    #expect(try await queue.restore().isEmpty)
    _ = try await queue.deliver(Payment("refunded"))
    #expect(try await queue.restore().count == 1, "bought again")
  }

  @Test("A catalog expires with the clock, and is valid again after a refresh")
  func expiry() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let queue = try session.launch()
    try await session.advance(by: .seconds(91 * 86400))
    let error = await #expect(throws: ContentError.self) { try await queue.products(["book"]) }
    #expect(error?.code == .metadataExpired)
    try session.refreshCatalog()
    #expect(try await queue.products(["book"]).products.count == 1)
  }

  @Test("Downloads fail as scripted, and recover when the faults end")
  func faults() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let queue = try session.launch { $0.network.attempts = 1 }
    try session.setFaults("*.pkg body changed")
    let transaction = try await queue.purchase(Payment("book"))
    let error = await #expect(throws: ContentError.self) { try await queue.install(transaction) }
    #expect(error?.code == .pieceDamaged)
    try session.setFaults("")
    #expect(try await queue.install(transaction).count == 1)
    #expect(throws: ContentError.self) { try session.setFaults("*.pkg explode") }
  }

  @Test("A store that was unreachable returns at the same address")
  func network() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let queue = try session.launch { $0.network.attempts = 1 }
    try session.setStoreIsReachable(false)
    let error = await #expect(throws: ContentError.self) { try await queue.products(["book"]) }
    #expect(error?.group == .network)
    try session.setStoreIsReachable(true)
    #expect(try await queue.products(["book"]).products.count == 1)
  }

  @Test("A restore fails after the given number of purchases")
  func restore() async throws {
    let session = try StoreSession()
    let queue = try session.launch()
    for product in ["a", "b"] as [ProductIdentifier] {
      try session.publish(product)
      _ = try await queue.deliver(Payment(product))
    }
    session.failRestore(
      with: ContentError(.serverBusy, "Busy", remedy: "Wait"), afterPurchases: 1)
    await #expect(throws: ContentError.self) { try await queue.restore() }
    #expect(queue.transactions.count == 1)
    #expect(try await queue.restore().count == 2)
  }
}
