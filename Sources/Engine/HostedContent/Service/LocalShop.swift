import FoundationEssentials
package import HostedCatalog
import HostedConcurrency
import HostedFileIO
package import HostedModel
package import HostedSelling
package import HostedShop

/// The built-in store service: sells the products of a signed catalog, and records the sales in a
/// ledger of this machine.
package final class LocalShop: StoreService, GrantLookup {
  private let catalog: RefreshedCatalog
  private let ledger: Ledger
  private let shop: Shop
  // Reading the catalog blocks, so it must not run on a thread of the task pool.
  private let calls: BlockingCalls
  private let clock: EngineClock
  /// Whether purchases that are not sales have ended in this process.
  private let hasEnded = Mutex(false)

  init(
    _ configuration: PaymentQueue.Configuration, _ catalog: Catalog, libraryFolder: Directory
  ) throws {
    let (clock, key) = (configuration.clock, configuration.receiptKey)
    let calls = BlockingCalls(serial: "hostedcontent.shop")
    let ledger = Ledger(try Self.database(configuration, libraryFolder))
    let refreshed = RefreshedCatalog(catalog)
    let decider = configuration.decider.map { DeciderChain.Link.decider($0, name: "decider") }
    var settings = Shop.Settings(
      catalog: refreshed, deciders: DeciderChain([decider ?? .always])
    ) { changes, completion in
      let isStarted = calls.start { completion(ledger.results(of: changes, at: clock.now())) }
      if !isStarted { completion(changes.map { _ in .failure(.commitFailed(.queueClosed)) }) }
    }
    settings.tasks = configuration.environment.execution.tasks
    if let key {
      settings.sign = { try key.sign(Receipt(of: $0, accountToken: $0.account)) }
    }
    self.catalog = refreshed
    self.ledger = ledger
    self.calls = calls
    self.clock = clock
    shop = Shop(ledger, settings)
  }

  private static func database(
    _ configuration: PaymentQueue.Configuration, _ libraryFolder: Directory
  ) throws -> SQLiteLedger {
    guard let url = configuration.ledgerFile else { return try SQLiteLedger(in: libraryFolder) }
    let parent = try url.deletingLastPathComponent().filePath(of: "ledger")
    return try SQLiteLedger(
      url.lastPathComponent,
      in: configuration.fileSystem.directory(at: parent, creating: true))
  }

  /// Refuses further calls, and waits for running calls of the store and the ledger.
  func close() {
    calls.close()
    ledger.close()
  }

  // MARK: Products

  package func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await calls.run { [catalog] in try catalog.refresh().products(identifiers) }
  }

  package func allProducts() async throws -> ProductsResponse {
    try await calls.run { [catalog] in try catalog.refresh().products(nil) }
  }

  // MARK: Purchases

  package let maximumBatchSize = 64

  /// Reads the catalog once, and records all sales in one commit.
  package func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    var sales: [Sale]
    do {
      sales = try await sell(orders)
      // Two orders of one product, of which the second repeats the first.
      var count = orders.count
      var busy = sales.indices.filter { sales[$0].isBusy }
      while !busy.isEmpty, busy.count < count {
        count = busy.count
        let again = try await sell(busy.map { orders[$0] })
        for (index, sale) in zip(busy, again) { sales[index] = sale }
        busy = busy.filter { sales[$0].isBusy }
      }
      // One failure of a file must cost one purchase only.
      if orders.count > 1 {
        for index in sales.indices where sales[index].failsAlone {
          sales[index] = try await sell([orders[index]])[0]
        }
      }
    } catch {
      return orders.map { PurchaseOutcome(of: $0, after: error) }
    }
    return zip(orders, sales).map { $1.outcome(of: $0) }
  }

  private func sell(_ orders: [PurchaseOrder]) async throws -> [Sale] {
    try await withCheckedThrowingContinuation { continuation in
      let isStarted = calls.start { [self] in
        shop.sell(orders.map(PurchaseRequest.init)) { [self] results in
          let sales = described(results)
          catalog.forget()
          continuation.resume(returning: sales)
          // Afterwards, so that the buyer does not wait for it.
          endOnce()
        }
      }
      if !isStarted { continuation.resume(throwing: ContentError.queueClosed) }
    }
  }

  /// Ends purchases that are not sales with the first sale of a process, so that the ledger does
  /// not grow with requests; blocks.
  ///
  /// The next process repeats it after a failure.
  private func endOnce() {
    let isFirst = hasEnded.withLock { hasEnded in
      defer { hasEnded = true }
      return !hasEnded
    }
    guard isFirst else { return }
    _ = try? PurchaseEnds().apply(to: ledger, at: clock.now())
  }

  /// The result of an order.
  fileprivate enum Sale: Sendable {
    /// Recorded, with its receipt and its current contents.
    case recorded(PurchaseRecord, [ContentOffer])
    case refused(SaleRefusal)
    /// Recorded, but the answer cannot be completed now.
    case unanswered(any Error)
  }

  /// Adds receipts and the current contents; blocks.
  private func described(_ results: [Shop.SaleResult]) -> [Sale] {
    let sold = results.compactMap { try? $0.get().purchase }.filter { $0.state == .purchased }
    let identifiers = sold.map(\.product)
    let products = Result {
      let found = try identifiers.isEmpty ? [] : catalog.last().lookUp(identifiers)
      return Dictionary(zip(identifiers, found)) { first, _ in first }
    }
    return results.map { result in
      do {
        guard let record = try result.get().purchase else { return .refused(.busy) }
        guard record.state == .purchased else { return .recorded(record, []) }
        let product = try products.get()[record.product]?.get()
        return .recorded(try shop.signed(record), product?.contents ?? [])
      } catch let refusal as SaleRefusal {
        return .refused(refusal)
      } catch {
        return .unanswered(error)
      }
    }
  }

  /// Changes a purchase as its seller does; the decider has the last word about an approval.
  ///
  /// Returns false if the shop does not know the transaction. Throws `usage` if its state does not
  /// allow the change.
  package func change(_ transaction: TransactionID, _ change: PurchaseChange) async throws -> Bool {
    let result: Shop.SaleResult = try await withCheckedThrowingContinuation { continuation in
      let isStarted = calls.start { [self] in
        shop.change(transaction, change) { continuation.resume(returning: $0) }
      }
      if !isStarted { continuation.resume(throwing: ContentError.queueClosed) }
    }
    switch result {
    case .success: return true
    case .failure(.refused(.unknownTransaction)): return false
    case .failure(.refused(.impossible(let record))):
      throw ContentError.impossible(change, of: transaction, record.state)
    case .failure(.catalogFailed(let error)), .failure(.commitFailed(let error)),
      .failure(.ledgerFailed(let error)), .failure(.deciderFailed(let error)),
      .failure(.notReady(let error)), .failure(.refused(.failed(let error))):
      throw error
    case .failure(.busy), .failure(.tooManyLookUps), .failure(.notOffered), .failure(.refused):
      throw ContentError(
        .serverBusy, "The purchase \(transaction) is being decided", remedy: "Decide again later",
        subject: transaction.rawValue)
    }
  }

  // MARK: Grants

  package func grants(account: AccountID?) async throws -> [Grant] {
    try await calls.run { [shop, ledger] in
      try ledger.owned(account: account).map { Grant(try shop.signed($0)) }
    }
  }

  /// Restores as by default, but reads and signs only the first grant of each product.
  package func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    .finding { [self] found in
      let originals = try await calls.run { [shop, ledger] in
        try ledger.originals(account: account).map { Grant(try shop.signed($0)) }
      }
      try await restore(originals, found)
    }
  }

  package func latestGrant(of product: ProductIdentifier, account: AccountID?) async throws
    -> Grant?
  {
    try await calls.run { [shop, ledger] in
      try ledger.latest(of: product, account: account).map { Grant(try shop.signed($0)) }
    }
  }
}

extension LocalShop.Sale {
  fileprivate var isBusy: Bool { if case .refused(.busy) = self { true } else { false } }

  /// Whether the error may concern one of several purchases, so that each is tried alone.
  ///
  /// Not if the store or the ledger failed: each purchase would wait for it again.
  fileprivate var failsAlone: Bool {
    switch self {
    case .refused(.catalogFailed(let error)), .refused(.commitFailed(let error)):
      error.code != .ledgerFailed && (error.code.group == .file || error.code.group == .diskSpace)
    case .recorded, .refused, .unanswered: false
    }
  }

  /// The outcome of `order`.
  ///
  /// A catalog that cannot be read, and a full disk, fail an order that was never recorded: SQLite
  /// has written nothing that counts. After other errors it may be recorded, or appear after a
  /// crash, so it is undecided.
  fileprivate func outcome(of order: PurchaseOrder) -> PurchaseOutcome {
    switch self {
    case .recorded(let record, let contents):
      switch record.state {
      case .purchased: return .purchased(Grant(record), contents: contents)
      case .deferred: return .deferred
      case .failed, .refunded, .revoked:
        guard let error = record.state.refusal(of: record.product) else { return .deferred }
        return .failed(error)
      }
    case .unanswered(let error): return PurchaseOutcome(of: order, after: error)
    case .refused(.refused(let refusal)):
      return PurchaseOutcome(failing: order, refusal.error(of: order))
    case .refused(.notOffered(let product)):
      return PurchaseOutcome(failing: order, ContentError.notOffered(product.rawValue))
    case .refused(.catalogFailed(let error)) where !order.isRepeated:
      return PurchaseOutcome(failing: order, error)
    case .refused(.commitFailed(let error)) where error.code == .diskFull && !order.isRepeated:
      return PurchaseOutcome(failing: order, error)
    case .refused(.catalogFailed(let error)), .refused(.commitFailed(let error)),
      .refused(.ledgerFailed(let error)), .refused(.deciderFailed(let error)),
      .refused(.notReady(let error)):
      return PurchaseOutcome(of: order, after: error)
    case .refused(.busy), .refused(.tooManyLookUps):
      return .undecided(.undecided(order, cause: "another purchase of it is being decided"))
    }
  }
}

/// A catalog that is refreshed for each call of the queue.
///
/// Thread-safe; calls block.
private final class RefreshedCatalog: SaleCatalog {
  private let catalog: Catalog
  private let snapshot = Mutex<CatalogSnapshot?>(nil)

  init(_ catalog: Catalog) { self.catalog = catalog }

  /// Reads the current catalog.
  func refresh() throws -> CatalogSnapshot {
    let current = try catalog.refresh()
    snapshot.withLock { $0 = current }
    return current
  }

  /// The catalog that this call has read before, or else the current one.
  func last() throws -> CatalogSnapshot { try snapshot.withLock { $0 } ?? refresh() }

  /// Ends a call.
  func forget() { snapshot.withLock { $0 = nil } }

  package func products(_ identifiers: Set<ProductIdentifier>) throws -> SaleProducts {
    let identifiers = Array(identifiers)
    let found = try refresh().lookUp(identifiers)
    return SaleProducts(
      products: found.compactMap { try? $0.get() },
      failures: zip(identifiers, found).compactMap { identifier, result in
        if case .failure(let error) = result { error.about(identifier.rawValue) } else { nil }
      })
  }

  func known(_ identifiers: Set<ProductIdentifier>) -> SaleProducts? { nil }
}
