import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// The built-in seller: grants every product of a store's signed catalogue, and remembers it.
final class CatalogueStoreService: GroupStoreService {
  private let catalogue: Catalogue
  private let grants: GrantsFile
  private let clock: EngineClock
  private let receiptKey: ReceiptSigningKey?
  // The catalogue blocks while it reads; that must not hold up a thread of the task pool.
  private let calls = BlockingCalls(serial: "hostedcontent.catalogue")

  init(
    _ configuration: PaymentQueue.Configuration, _ catalogue: Catalogue, libraryFolder: Directory
  ) throws {
    self.catalogue = catalogue
    clock = configuration.clock
    receiptKey = configuration.receiptKey
    grants = try Self.grantsFile(configuration, libraryFolder)
  }

  private static func grantsFile(
    _ configuration: PaymentQueue.Configuration, _ libraryFolder: Directory
  ) throws -> GrantsFile {
    guard let url = configuration.grantsFile else {
      return try GrantsFile("grants.json", in: libraryFolder)
    }
    let parent = url.deletingLastPathComponent().path(percentEncoded: false)
    return try GrantsFile(
      url.lastPathComponent,
      in: configuration.fileSystem.directory(at: parent, creating: true))
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await calls.run { try self.catalogue.refresh().products(identifiers) }
  }

  func allProducts() async throws -> ProductsResponse {
    try await calls.run { try self.catalogue.refresh().products(nil) }
  }

  func purchase(_ payment: Payment, transaction: String) async throws -> PurchaseOutcome {
    let order = PurchaseOrder(payment: payment, transaction: transaction)
    switch await purchase([order]).first {
    case .failed(let error): throw error
    case .purchased(let grant, let contents): return .purchased(grant, contents: contents)
    case .deferred, nil: return .deferred
    }
  }

  /// With one look at the catalogue, and all grants remembered at once.
  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    do {
      return try await calls.run { try self.sell(orders) }
    } catch {
      return await purchaseAlone(orders, after: error)
    }
  }

  /// Each by itself after they failed together: a step that fails once costs one purchase only.
  ///
  /// Not when it was the store that failed, which would be waited for again and again.
  private func purchaseAlone(_ orders: [PurchaseOrder], after error: any Error) async
    -> [PurchaseOutcome]
  {
    let group = (error as? ContentError)?.group
    guard orders.count > 1, group == .file || group == .diskSpace else {
      return orders.map { PurchaseOutcome(failing: $0, error) }
    }
    var outcomes: [PurchaseOutcome] = []
    for order in orders { outcomes += await purchase([order]) }
    return outcomes
  }

  private func sell(_ orders: [PurchaseOrder]) throws -> [PurchaseOutcome] {
    let catalogue = try catalogue.refresh()
    let products = orders.map { order in
      Result { try catalogue.product(order.payment.productIdentifier) }
    }
    let sold = zip(orders, products).filter { order, product in
      !order.payment.simulatesAskToBuy && (try? product.get()) != nil
    }
    let date = clock.now().timeIntervalSince1970
    let grants = try grants.grant(
      sold.map { order, _ in
        Grant(transactionIdentifier: order.transaction, date: date, payment: order.payment)
      })
    let granted = Dictionary(grants.map { ($0.transactionIdentifier, $0) }) { first, _ in first }
    return zip(orders, products).map { order, product in
      do {
        let product = try product.get()
        guard let grant = granted[order.transaction] else { return .deferred }
        return .purchased(
          try signed(grant, among: owned(by: grant.account), product), contents: product.contents)
      } catch {
        return PurchaseOutcome(failing: order, error)
      }
    }
  }

  /// All grants of the account, oldest first, if receipts need them.
  private func owned(by account: String?) throws -> [Grant] {
    try receiptKey == nil ? [] : grants.grants(account: account)
  }

  func grants(account: String?) async throws -> [Grant] {
    try await calls.run {
      let grants = try self.grants.grants(account: account)
      guard self.receiptKey != nil, !grants.isEmpty else { return grants }
      let catalogue = try self.catalogue.cached()
      return try grants.map { grant in
        try self.signed(
          grant, among: grants, try? catalogue?.product(grant.payment.productIdentifier))
      }
    }
  }

  /// `grant` with a receipt, if there is a key; `owned` are all grants of the account, oldest first.
  ///
  /// Receipts are not remembered but signed when they are asked for, so that a new key counts at once.
  private func signed(_ grant: Grant, among owned: [Grant], _ product: Product?) throws -> Grant {
    guard let receiptKey else { return grant }
    let first = owned.first { $0.payment.productIdentifier == grant.payment.productIdentifier }
    let receipt = Receipt(
      transactionIdentifier: grant.transactionIdentifier,
      originalTransactionIdentifier: first?.transactionIdentifier,
      productIdentifier: grant.payment.productIdentifier,
      contentVersion: product?.contents.first?.version, accountToken: grant.account,
      quantity: grant.payment.quantity, purchaseDate: Date(timeIntervalSince1970: grant.date),
      originalPurchaseDate: first.map { Date(timeIntervalSince1970: $0.date) },
      signedDate: clock.now())
    return Grant(
      transactionIdentifier: grant.transactionIdentifier, date: grant.date,
      payment: grant.payment, receipt: try receiptKey.sign(receipt))
  }

  /// Sells nothing any more, and waits until the store and the grants are not looked at.
  func close() { calls.close() }
}

extension Grant {
  /// Whose it is; nil for the library's own account.
  fileprivate var account: String? { payment.applicationUsername }
}
