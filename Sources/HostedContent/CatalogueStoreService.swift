import ContentModel
import ContentTrust
import Dispatch
import FileIO
import FoundationEssentials
import Locks

/// The built-in seller: grants every product of a store's signed catalogue, and remembers it.
final class CatalogueStoreService: StoreService {
  private let catalogue: Catalogue
  private let grants: GrantsFile
  private let clock: EngineClock
  private let receiptKey: ReceiptSigningKey?
  // The catalogue blocks while it reads; that must not hold up a thread of the task pool.
  private let serial = DispatchQueue(label: "hostedcontent.catalogue")

  init(
    _ configuration: PaymentQueue.Configuration, store: StoreAccess, libraryFolder: Directory
  ) throws {
    catalogue = Catalogue(
      of: store, trustedRoot: configuration.trustedRoot,
      trustFolder: try libraryFolder.createDirectory("trust"), now: configuration.clock.now)
    clock = configuration.clock
    receiptKey = configuration.receiptKey
    grants = try Self.grantsFile(configuration, libraryFolder)
  }

  private static func grantsFile(
    _ configuration: PaymentQueue.Configuration, _ libraryFolder: Directory
  ) throws -> GrantsFile {
    guard let url = configuration.grantsFile else {
      return GrantsFile("grants.json", in: libraryFolder)
    }
    let parent = url.deletingLastPathComponent().path(percentEncoded: false)
    return GrantsFile(
      url.lastPathComponent,
      in: try configuration.fileSystem.directory(at: parent, creating: true))
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await onSerial { try self.catalogue.refresh().products(identifiers) }
  }

  func allProducts() async throws -> ProductsResponse {
    try await onSerial { try self.catalogue.refresh().products(nil) }
  }

  func purchase(_ payment: Payment, transaction: String) async throws -> PurchaseOutcome {
    try await onSerial {
      let product = try self.catalogue.refresh().product(payment.productIdentifier)
      if payment.simulatesAskToBuy { return .deferred }
      let grant = try self.grants.grant(transaction: transaction) {
        Grant(
          transactionIdentifier: transaction, date: self.clock.now().timeIntervalSince1970,
          payment: payment)
      }
      let owned = try self.receiptKey == nil ? [] : self.grants.grants(account: grant.account)
      return .purchased(
        try self.signed(grant, among: owned, product), contents: product.contents)
    }
  }

  func grants(account: String?) async throws -> [Grant] {
    try await onSerial {
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

  /// Every version of the product's contents that the store has.
  func offers(of product: ProductIdentifier) async throws -> [ContentOffer] {
    try await onSerial { try self.catalogue.refresh().offers(of: product) }
  }

  private func onSerial<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      serial.async { continuation.resume(with: Result(catching: body)) }
    }
  }
}

extension Grant {
  /// Whose it is; nil for the library's own account.
  fileprivate var account: String? { payment.applicationUsername }
}
