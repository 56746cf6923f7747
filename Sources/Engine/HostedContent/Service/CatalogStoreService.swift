import HostedCatalog
import HostedSelling
import HostedConcurrency
import HostedModel
import HostedFileIO
import FoundationEssentials
import HostedLedger

/// The built-in store service: grants every product of a store's signed catalog and records it.
final class CatalogStoreService: StoreService, GrantLookup {
  private let catalog: Catalog
  private let ledger: Ledger
  private let clock: EngineClock
  private let receiptKey: ReceiptSigningKey?
  // Reading the catalog blocks, so it must not run on a thread of the task pool.
  private let calls = BlockingCalls(serial: "hostedcontent.catalog")

  init(
    _ configuration: PaymentQueue.Configuration, _ catalog: Catalog, libraryFolder: Directory
  ) throws {
    self.catalog = catalog
    clock = configuration.clock
    receiptKey = configuration.receiptKey
    ledger = Ledger(try Self.database(configuration, libraryFolder))
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

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await calls.run { try self.catalog.refresh().products(identifiers) }
  }

  func allProducts() async throws -> ProductsResponse {
    try await calls.run { try self.catalog.refresh().products(nil) }
  }

  let maximumBatchSize = 64

  /// Reads the catalog once, and records all grants in one commit.
  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    do {
      let sales = try await calls.run { try self.sell(orders) }
      return zip(orders, sales).map { order, sale in
        switch sale {
        case .success(let outcome): outcome
        case .failure(let error): PurchaseOutcome(of: order, after: error)
        }
      }
    } catch {
      return await purchaseAlone(orders, after: error)
    }
  }

  /// Retries each purchase alone after a batch failed, so one failure costs one purchase.
  ///
  /// Not if the store or the ledger failed: each purchase would wait for it again.
  private func purchaseAlone(_ orders: [PurchaseOrder], after error: any Error) async
    -> [PurchaseOutcome]
  {
    guard orders.count > 1, Self.mayConcernOne(error) else {
      // SQLite has written nothing that counts on a full disk, so a new order fails.
      let isCertain = (error as? ContentError)?.code == .diskFull
      return orders.map {
        isCertain && !$0.isRepeated
          ? PurchaseOutcome(failing: $0, error) : PurchaseOutcome(of: $0, after: error)
      }
    }
    var outcomes: [PurchaseOutcome] = []
    for order in orders { outcomes += await purchase([order]) }
    return outcomes
  }

  private static func mayConcernOne(_ error: any Error) -> Bool {
    let code = (error as? ContentError)?.code
    return code != .ledgerFailed && (code?.group == .file || code?.group == .diskSpace)
  }

  /// Returns the outcome of each order, or why it is undecided.
  ///
  /// Throws if the ledger fails: what was not recorded may appear after a crash. A catalog that
  /// cannot be read decides an order that was never recorded before: it fails.
  private func sell(_ orders: [PurchaseOrder]) throws -> [Result<PurchaseOutcome, any Error>] {
    let offered = try offers(of: orders)
    let drafts = try zip(orders, offered).compactMap { order, product in
      order.payment.simulatesAskToBuy
        ? nil : try (try? product.get()).map { try order.draft(of: $0) }
    }
    var recorded = try ledger.commit(drafts.map { .purchase($0) }, at: clock.now()).makeIterator()
    return zip(orders, offered).map { order, product in
      switch product {
      case .success(let product) where !order.payment.simulatesAskToBuy:
        guard let result = recorded.next() else { return .success(.deferred) }
        return Result { try outcome(of: order, product, result) }
      case .success: return .success(.deferred)
      case .failure(let error):
        let isUnknown = (error as? ContentError)?.code == .productUnknown
        return isUnknown || !order.isRepeated
          ? .success(PurchaseOutcome(failing: order, error)) : .failure(error)
      }
    }
  }

  private func outcome(
    of order: PurchaseOrder, _ product: Product, _ result: Result<LedgerOutcome, LedgerRefusal>
  ) throws -> PurchaseOutcome {
    do {
      let purchase = try result.purchase(for: order)
      return .purchased(
        try grant(purchase, original: original(of: purchase)), contents: product.contents)
    } catch let error as ContentError where error.group == .entitlement {
      return PurchaseOutcome(failing: order, error)
    }
  }

  /// Returns the product of each order; fails if it is not offered, or cannot be read.
  ///
  /// Throws errors after which each order of several is tried alone.
  private func offers(of orders: [PurchaseOrder]) throws -> [Result<Product, any Error>] {
    do {
      let products = try catalog.refresh().lookUp(orders.map(\.payment.productIdentifier))
      return zip(orders, products).map { order, product in
        Result {
          guard let product = try product.get() else {
            throw ContentError.notOffered(order.payment.productIdentifier.rawValue)
          }
          return product
        }
      }
    } catch {
      if orders.count > 1, Self.mayConcernOne(error) { throw error }
      return orders.map { _ in .failure(error) }
    }
  }

  // MARK: Grants

  func grants(account: AccountID?) async throws -> [Grant] {
    try await calls.run {
      let purchases = try self.ledger.owned(account: account)
      let originals = Dictionary(purchases.map { ($0.product, $0) }) { first, _ in first }
      return try purchases.map { try self.grant($0, original: originals[$0.product]) }
    }
  }

  /// Restores as by default, but reads and signs only the first grant of each product.
  func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    .finding { [self] found in
      let originals = try await calls.run {
        try self.ledger.originals(account: account).map { try self.grant($0, original: $0) }
      }
      try await restore(originals, found)
    }
  }

  func latestGrant(of product: ProductIdentifier, account: AccountID?) async throws -> Grant? {
    try await calls.run {
      try self.ledger.latest(of: product, account: account).map {
        try self.grant($0, original: self.original(of: $0))
      }
    }
  }

  /// Returns the account's first purchase of the product.
  private func original(of purchase: PurchaseRecord) throws -> PurchaseRecord? {
    try ledger.original(of: purchase.product, account: purchase.account)
  }

  /// Returns the grant of a purchase, with a receipt if there is a key.
  ///
  /// Receipts are signed on request and not stored, so that a new key takes effect at once.
  private func grant(
    _ purchase: PurchaseRecord, original: @autoclosure () throws -> PurchaseRecord?
  ) throws -> Grant {
    var purchase = purchase
    if let receiptKey {
      purchase.receipt = try receiptKey.sign(
        Receipt(
          of: purchase, original: original(), accountToken: purchase.account,
          signedDate: clock.now()))
    }
    return Grant(purchase)
  }

  /// Refuses further calls, and waits for running calls of the store and the ledger.
  func close() {
    calls.close()
    ledger.close()
  }
}
