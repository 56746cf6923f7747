import ContentJournal
import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// The built-in seller: grants every product of a store's signed catalog and records it.
final class CatalogStoreService: StoreService, GrantLookup {
  private let catalog: Catalog
  private let grants: GrantsDatabase
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
    grants = try Self.grants(configuration, libraryFolder)
  }

  private static func grants(
    _ configuration: PaymentQueue.Configuration, _ libraryFolder: Directory
  ) throws -> GrantsDatabase {
    guard let url = configuration.grantsFile else {
      return try GrantsDatabase(in: libraryFolder)
    }
    let parent = url.deletingLastPathComponent().path(percentEncoded: false)
    return try GrantsDatabase(
      url.lastPathComponent,
      in: configuration.fileSystem.directory(at: parent, creating: true))
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await calls.run { try self.catalog.refresh().products(identifiers) }
  }

  func allProducts() async throws -> ProductsResponse {
    try await calls.run { try self.catalog.refresh().products(nil) }
  }

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    let order = PurchaseOrder(payment: payment, transaction: transaction)
    switch await purchase([order]).first {
    case .failed(let error): throw error
    case .purchased(let grant, let contents): return .purchased(grant, contents: contents)
    case .deferred, nil: return .deferred
    }
  }

  let maximumBatchSize = 64

  /// Reads the catalog once, and records all grants in one commit.
  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    do {
      return try await calls.run { try self.sell(orders) }
    } catch {
      return await purchaseAlone(orders, after: error)
    }
  }

  /// Retries each purchase alone after a batch failed, so one failure costs one purchase.
  ///
  /// Not if the store or the grants file failed: each purchase would wait for it again.
  private func purchaseAlone(_ orders: [PurchaseOrder], after error: any Error) async
    -> [PurchaseOutcome]
  {
    let code = (error as? ContentError)?.code
    guard orders.count > 1, code?.group == .file || code?.group == .diskSpace,
      code != .grantsFailed
    else {
      return orders.map { PurchaseOutcome(failing: $0, error) }
    }
    var outcomes: [PurchaseOutcome] = []
    for order in orders { outcomes += await purchase([order]) }
    return outcomes
  }

  private func sell(_ orders: [PurchaseOrder]) throws -> [PurchaseOutcome] {
    let products = try catalog.refresh().lookUp(orders.map(\.payment.productIdentifier))
    let contents = zip(orders, products).map { order, product in
      Result {
        guard let product = try product.get() else {
          throw ContentError.notOffered(order.payment.productIdentifier.rawValue)
        }
        return product.contents
      }
    }
    let sold = zip(orders, contents).filter { order, contents in
      !order.payment.simulatesAskToBuy && (try? contents.get()) != nil
    }
    let date = clock.now()
    var grants = try grants.add(
      sold.map { order, _ in
        Grant(transactionIdentifier: order.transaction.rawValue, date: date, payment: order.payment)
      }
    ).makeIterator()
    return zip(orders, contents).map { order, contents in
      do {
        let contents = try contents.get()
        guard !order.payment.simulatesAskToBuy, let grant = grants.next() else { return .deferred }
        return .purchased(try signed(grant.get(), contents), contents: contents)
      } catch {
        return PurchaseOutcome(failing: order, error)
      }
    }
  }

  // MARK: Grants

  func grants(account: String?) async throws -> [Grant] {
    try await calls.run {
      let grants = try self.grants.grants(account: account)
      guard self.receiptKey != nil else { return grants }
      let originals = Dictionary(grants.map { ($0.payment.productIdentifier, $0) }) { first, _ in
        first
      }
      return try self.signed(grants) { originals[$0.payment.productIdentifier] }
    }
  }

  func originalGrants(account: String?) async throws -> [Grant] {
    try await calls.run {
      try self.signed(self.grants.originalGrants(account: account)) { $0 }
    }
  }

  func latestGrant(of product: ProductIdentifier, account: String?) async throws -> Grant? {
    try await calls.run {
      let latest = try self.grants.latestGrant(of: product, account: account)
      return try self.signed(latest.map { [$0] } ?? [], original: self.original).first
    }
  }

  /// Returns the account's first grant of the product of `grant`.
  private func original(of grant: Grant) throws -> Grant? {
    try grants.originalGrant(
      of: grant.payment.productIdentifier, account: grant.payment.applicationUsername)
  }

  /// Returns `grants` with receipts if there is a key, from the cached catalog.
  private func signed(_ grants: [Grant], original: (Grant) throws -> Grant?) throws -> [Grant] {
    guard receiptKey != nil, !grants.isEmpty else { return grants }
    let catalog = try catalog.cached()
    return try grants.map { grant in
      let product = try? catalog?.product(grant.payment.productIdentifier)
      return try signed(grant, original: original(grant), product?.contents ?? [])
    }
  }

  private func signed(_ grant: Grant, _ contents: [ContentOffer]) throws -> Grant {
    try receiptKey == nil ? grant : signed(grant, original: original(of: grant), contents)
  }

  /// Returns `grant` with a receipt if there is a key.
  ///
  /// Receipts are signed on request and not stored, so that a new key takes effect at once.
  private func signed(
    _ grant: Grant, original: Grant?, _ contents: [ContentOffer]
  ) throws -> Grant {
    guard let receiptKey else { return grant }
    let receipt = Receipt(
      transactionIdentifier: grant.transactionIdentifier,
      originalTransactionIdentifier: original?.transactionIdentifier,
      productIdentifier: grant.payment.productIdentifier,
      contentVersion: contents.first?.version,
      accountToken: grant.payment.applicationUsername, quantity: grant.payment.quantity,
      purchaseDate: grant.date,
      originalPurchaseDate: original?.date,
      signedDate: clock.now())
    return Grant(
      transactionIdentifier: grant.transactionIdentifier, date: grant.date,
      payment: grant.payment, receipt: try receiptKey.sign(receipt))
  }

  /// Refuses further calls, and waits for running calls of the store and the grants database.
  func close() {
    calls.close()
    grants.close()
  }
}
