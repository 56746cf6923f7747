import HostedSelling
import HostedModel
import HostedShop

/// Requests events from a store server until its task is cancelled, and passes them on.
struct EventRequests: Sendable {
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
    // Kept while asking for earlier decisions fails, so that no later event is lost.
    var firstPage: StoreServerConnection.EventPage?
    var failures = 0
    while !Task.isCancelled {
      do {
        let start = ContinuousClock.now
        var page = firstPage
        if page == nil { page = try await connection.events(after: position) }
        if let page {
          if position == nil {
            firstPage = page
            // Decisions before the first position have no events in this feed.
            try await repeatOrders(orders.deferredOrders)
            firstPage = nil
          }
          pass(page)
          // In case the server does not wait for events.
          if page.cursor == position, start.duration(to: .now) < .seconds(1) {
            try await Task.sleep(for: .seconds(1))
          }
          position = page.cursor
          failures = 0
        } else {
          position = try await resume()
          // In case the server does not have the events after this position either.
          if failures > 0 { try await connection.pause(afterFailure: failures) }
          failures += 1
        }
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
      if let event = event(message) { pass(event, message.cursor) }
    }
    guard page.cursor != passed.cursor else { return }
    if let time = passed.at, time.duration(to: .now) < Self.checkpointInterval { return }
    pass(.checkpoint, page.cursor)
  }

  private mutating func pass(_ event: StoreEvent, _ cursor: String) {
    sender.yield(StoreEventRecord(event, cursor: cursor))
    passed = (cursor, ContinuousClock.now)
  }

  /// Returns the event that a queue needs; nil if it learns about the change otherwise.
  private func event(_ message: EventMessage) -> StoreEvent? {
    if message.kind == .published { return .contentPublished }
    guard let purchase = message.purchase, let kind = message.kind else { return nil }
    switch kind {
    case .decided, .declined, .decidedAfterInterruption:
      let transaction = TransactionID(rawValue: purchase.transaction)
      let order = orders.payment(of: transaction)
      // The order may have named the account or not. Deferred orders are asked about at launch.
      if order == nil, kind == .decided, let own = connection.pinnedAccount,
        purchase.account == own
      {
        return nil
      }
      let name = if let order { order.applicationUsername } else { account(of: purchase) }
      // An interrupted purchase has failed in its queue, which then delivers it again.
      let outcome = connection.outcome(of: purchase, for: name)
      orders.note(outcome, of: transaction)
      return .answered(transaction: transaction, outcome)
    case .refunded, .revoked: return revocation(purchase).map { .revoked($0) }
    case .purchased, .reversed, .published: return nil
    }
  }

  /// Returns the account of a purchase as in requests; nil for the own account.
  ///
  /// The account of the token has its name if requests have used it.
  private func account(of purchase: PurchaseRecord) -> AccountID? {
    let isNamed = connection.pinnedAccount.map { orders.accounts.contains($0) } ?? false
    return isNamed ? purchase.account : connection.account(purchase.account, requested: nil)
  }

  /// The loss of the product; nil if the purchase was not taken back, or was given back since.
  private func revocation(_ purchase: PurchaseRecord) -> Revocation? {
    switch purchase.state {
    case .refunded, .revoked:
      Revocation(
        [purchase.product], account: account(of: purchase),
        transactionIdentifier: purchase.transaction)
    case .deferred, .purchased, .failed: nil
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
  ///
  /// Those with a call in progress are asked for once: they may never have an outcome.
  private func repeatOrders(_ repeated: [PurchaseOrder]) async throws {
    var open = repeated[...]
    while !open.isEmpty {
      let batch = Array(open.prefix(HTTPStoreService.batchSize))
      open = open.dropFirst(batch.count)
      var undecided: [PurchaseOrder] = []
      for (order, outcome) in zip(batch, try await connection.ask(for: batch)) {
        if let outcome { pass(outcome, of: order) } else { undecided.append(order) }
      }
      let sending = orders.sending
      undecided.removeAll { sending.contains($0.transaction) }
      for (order, outcome) in zip(undecided, try await connection.purchase(undecided)) {
        pass(outcome, of: order)
      }
    }
  }

  private func pass(_ outcome: PurchaseOutcome, of order: PurchaseOrder) {
    orders.note(outcome, of: order.transaction)
    sender.yield(StoreEventRecord(.answered(transaction: order.transaction, outcome)))
  }

  /// Reports the products that `account` has lost and not bought again.
  private func reportRevocations(of account: AccountID?) async throws {
    if StoreServerConnection.refusal(ofAccount: account) != nil { return }
    var owned: Set<ProductIdentifier> = []
    var revocations: [Revocation] = []
    do {
      try await connection.readPages(.history, of: account ?? "-") { page in
        // One that cannot be read must not stop the events forever.
        let records = page.compactMap { try? PurchaseRecord(json: $0) }
        for record in records where record.state == .purchased { owned.insert(record.product) }
        revocations += records.compactMap(revocation)
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
