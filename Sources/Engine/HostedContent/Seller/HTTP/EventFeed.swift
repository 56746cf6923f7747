import ContentModel
import ContentTrust
import StoreLedger

/// Requests events from a store server until its task is cancelled, and passes them on.
struct EventFeed: Sendable {
  let connection: StoreServerConnection
  let orders: OpenOrders
  let sender: AsyncStream<StoreEventRecord>.Continuation
  /// The last cursor that was passed on, which the queue stores, and when.
  private var passed: (cursor: String?, at: ContinuousClock.Instant?)

  /// The time between cursors without an event, each of which is a write of the queue's journal.
  private static let checkpointInterval = Duration.seconds(10)

  init(
    _ connection: StoreServerConnection, _ orders: OpenOrders, after cursor: String?,
    to sender: AsyncStream<StoreEventRecord>.Continuation
  ) {
    self.connection = connection
    self.orders = orders
    self.sender = sender
    passed = (cursor, nil)
  }

  mutating func run() async {
    var position = passed.cursor
    var failures = 0
    while !Task.isCancelled {
      do {
        let start = ContinuousClock.now
        if let page = try await connection.events(after: position) {
          // Decisions before the first position have no events in this feed.
          if position == nil { try await repeatOrders(orders.deferredOrders) }
          pass(page)
          // In case the server does not wait for events.
          if page.cursor == position, start.duration(to: .now) < .seconds(1) {
            try await Task.sleep(for: .seconds(1))
          }
          position = page.cursor
        } else {
          position = try await resume()
        }
        failures = 0
      } catch {
        failures += 1
        try? await connection.pause(afterFailure: failures)
      }
    }
    sender.finish()
  }

  private mutating func pass(_ page: StoreServerConnection.EventPage) {
    for json in page.events {
      // One that cannot be read must not stop the later ones.
      guard let message = try? EventMessage(json: json) else { continue }
      let events = events(message)
      for event in events.dropLast() { sender.yield(StoreEventRecord(event)) }
      if let last = events.last { pass(last, message.cursor) }
    }
    guard page.cursor != passed.cursor else { return }
    if let time = passed.at, time.duration(to: .now) < Self.checkpointInterval { return }
    pass(.checkpoint, page.cursor)
  }

  private mutating func pass(_ event: StoreEvent, _ cursor: String) {
    sender.yield(StoreEventRecord(event, cursor: cursor))
    passed = (cursor, ContinuousClock.now)
  }

  /// Returns the events that a queue needs; none if it learns about the change otherwise.
  private func events(_ message: EventMessage) -> [StoreEvent] {
    if message.kind == .published { return [.contentPublished] }
    guard let purchase = message.purchase, let kind = message.kind else { return [] }
    switch kind {
    case .decided, .decidedAfterInterruption:
      let outcome = connection.outcome(of: purchase)
      let answer = StoreEvent.answered(
        transaction: TransactionID(rawValue: purchase.transaction), outcome)
      // An interrupted purchase has failed in its queue, which ignores the answer. A queue that
      // has not received the failure yet takes the answer, and ignores the grant.
      guard kind == .decidedAfterInterruption, case .purchased(let grant, let contents) = outcome
      else {
        return [answer]
      }
      return [answer, .granted(grant, contents: contents)]
    case .refunded, .revoked: return purchase.revocation.map { [.revoked($0)] } ?? []
    case .purchased, .reversed, .published: return []
    }
  }

  /// Continues at the server's current position after events were lost; returns its cursor.
  ///
  /// The position is read first, so that no later event is lost.
  private mutating func resume() async throws -> String {
    guard let head = try await connection.events(after: nil) else {
      throw ContentError.malformedAnswer("it has no position")
    }
    try await repeatOrders(orders.orders)
    for account in orders.accounts { try await reportRevocations(of: account) }
    pass(.contentPublished, head.cursor)
    return head.cursor
  }

  /// Asks for orders again: the server may have decided them, or lost them with its ledger.
  private func repeatOrders(_ orders: [PurchaseOrder]) async throws {
    var open = orders[...]
    while !open.isEmpty {
      let batch = Array(open.prefix(HTTPStoreService.batchSize))
      open = open.dropFirst(batch.count)
      let outcomes = try await connection.purchase(batch)
      for (order, outcome) in zip(batch, outcomes) {
        sender.yield(
          StoreEventRecord(.answered(transaction: order.transaction, outcome)))
      }
    }
  }

  /// Reports the products that `account` has lost and not bought again.
  private func reportRevocations(of account: String?) async throws {
    var owned: Set<ProductIdentifier> = []
    var revocations: [Revocation] = []
    do {
      try await connection.readPurchases(.history, of: account) { records in
        for record in records where record.state == .purchased { owned.insert(record.product) }
        revocations += records.compactMap(\.revocation)
      }
    } catch let error as ContentError
      where error.code == .accessDenied || error.code == .requestRefused
    {
      // Such as an account that was erased.
      return
    }
    for revocation in revocations where owned.isDisjoint(with: revocation.productIdentifiers) {
      sender.yield(StoreEventRecord(.revoked(revocation)))
    }
  }
}

extension PurchaseRecord {
  /// The loss of the product; nil if the purchase was not taken back, or was given back since.
  fileprivate var revocation: Revocation? {
    switch state {
    case .refunded, .revoked:
      Revocation([product], account: payingAccount, transactionIdentifier: transaction)
    case .deferred, .purchased, .failed: nil
    }
  }
}
