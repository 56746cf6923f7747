import FoundationEssentials
import HostedModel
import HostedContent
import HostedShop

/// The seller of a simulation.
///
/// It survives crashes, and repeats its answers.
// Sendable, because only the scheduled thread uses it.
final class SimulatedSeller: StoreService, @unchecked Sendable {
  private unowned let world: World
  private var ledger = LedgerModel()
  /// The index of the offered edition, by product.
  private var edition: [ProductIdentifier: Int] = [:]
  private(set) var deferred: [String: Payment] = [:]
  private var events_: AsyncStream<StoreEventRecord>.Continuation?
  private var purchases = 0

  init(_ world: World) { self.world = world }

  private var store: SimulatedStore { world.store }

  private static let down = ContentError(
    .serverFailed, "The simulated seller failed", remedy: "Try again")

  // MARK: Actions of the schedule

  /// Offers the next edition of a product.
  func publish(_ product: SimulatedStore.Product) {
    let next = edition[product.identifier, default: 0] + 1
    if next < product.editions.count { edition[product.identifier] = next }
    send(.contentPublished)
  }

  func send(_ event: StoreEvent) { events_?.yield(StoreEventRecord(event)) }

  /// Decides a deferred payment.
  func decide(_ transaction: String, isApproved: Bool) {
    guard let payment = deferred.removeValue(forKey: transaction) else { return }
    send(
      .answered(
        transaction: TransactionID(rawValue: transaction),
        answer(payment, transaction, isRefused: !isApproved)))
  }

  /// Records a purchase that was made elsewhere.
  func grantElsewhere(_ product: SimulatedStore.Product) {
    purchases += 1
    let transaction = "elsewhere-\(purchases)"
    let change = draft(
      of: Payment(productIdentifier: product.identifier), transaction, product, state: .purchased)
    _ = ledger.commit([change], at: Date(timeIntervalSince1970: Double(purchases)))
    guard let record = ledger.purchases[transaction]?.record else { return }
    send(.granted(grant(record), contents: offers(of: product)))
  }

  var products: [SimulatedStore.Product] { store.products.filter { world.plan.offers($0) } }

  func offers(of product: SimulatedStore.Product) -> [ContentOffer] {
    product.editions[edition[product.identifier, default: 0]]
  }

  // MARK: StoreService

  private func described(_ product: SimulatedStore.Product) -> Product {
    Product(
      productIdentifier: product.identifier, type: product.type,
      texts: ["en": ProductText(title: "x")],
      price: nil, contents: offers(of: product))
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    guard world.step("look up products"), !world.sellerFails() else { throw Self.down }
    return ProductsResponse(
      products: products.filter { identifiers.contains($0.identifier) }.map(described))
  }

  func allProducts() async throws -> ProductsResponse {
    guard world.step("look up all products"), !world.sellerFails() else { throw Self.down }
    // All versions stay in the store, since a repair may need them.
    return ProductsResponse(products: products.map(described))
  }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    try orders.map { order in
      guard world.step("purchase \(order.payment.productIdentifier)"), !world.sellerFails() else {
        throw Self.down
      }
      let outcome = answer(order.payment, order.transaction.rawValue, isRefused: nil)
      // The answer may be lost, although the purchase counts.
      guard world.step("answer the purchase"), !world.sellerFails() else { throw Self.down }
      return outcome
    }
  }

  private func answer(_ payment: Payment, _ transaction: String, isRefused: Bool?)
    -> PurchaseOutcome
  {
    guard let product = products.first(where: { $0.identifier == payment.productIdentifier }) else {
      return .failed(ContentError(.productUnknown, "Not offered", remedy: "Buy another product"))
    }
    let isKnown = ledger.purchases[transaction] != nil
    let change: LedgerChange? =
      if let isRefused {
        .decide(transaction: transaction, isRefused ? .decline(reason: "Refused") : .approve)
      } else if isKnown {
        nil
      } else {
        draft(of: payment, transaction, product, state: newState())
      }
    purchases += 1
    let date = Date(timeIntervalSince1970: Double(purchases))
    for result in ledger.commit(change.map { [$0] } ?? [], at: date) {
      if case .failure(let refusal) = result { world.violate("a sale is refused", "\(refusal)") }
    }
    switch ledger.purchases[transaction]?.record {
    case let record? where record.state == .purchased:
      return .purchased(grant(record), contents: offers(of: product))
    case let record? where record.state == .deferred(.payment):
      deferred[transaction] = payment
      return .deferred
    default: return .failed(ContentError(.notEntitled, "Refused", remedy: "Try again"))
    }
  }

  /// Chooses the state of a new purchase.
  private func newState() -> PurchaseState {
    if world.choices.happens(.action, oneIn: world.isHealing ? 0 : 8) { return .deferred(.payment) }
    return world.choices.happens(.action, oneIn: 10) ? .failed(.declined("Refused")) : .purchased
  }

  private func draft(
    of payment: Payment, _ transaction: String, _ product: SimulatedStore.Product,
    state: PurchaseState
  ) -> LedgerChange {
    .purchase(
      PurchaseDraft(
        transaction: transaction, account: payment.applicationUsername,
        product: payment.productIdentifier, quantity: payment.quantity, requestDigest: .zero,
        state: state, contents: [], isRestorable: product.type == .nonConsumable))
  }

  private func grant(_ record: PurchaseRecord) -> Grant {
    Grant(
      transactionIdentifier: record.transaction, date: record.date,
      payment: Payment(
        productIdentifier: record.product, quantity: record.quantity,
        applicationUsername: record.account), receipt: "receipt of \(record.transaction)")
  }

  func grants(account: AccountID?) async throws -> [Grant] {
    guard world.step("list grants"), !world.sellerFails() else { throw Self.down }
    return ledger.owned(account: account).map(grant)
  }

  func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    var seen: Set<ProductIdentifier> = []
    let left = ledger.owned(account: account).map(grant).filter { grant in
      products.contains {
        $0.identifier == grant.payment.productIdentifier && $0.type == .nonConsumable
      } && seen.insert(grant.payment.productIdentifier).inserted
    }.map { grant in
      RestoredPurchase(
        original: grant,
        contents: products.first { $0.identifier == grant.payment.productIdentifier }
          .map { offers(of: $0) } ?? [])
    }
    let purchases = RestoredPurchases(world, left)
    return AsyncThrowingStream(unfolding: { try purchases.next() })
  }

  // Sendable, as the seller.
  private final class RestoredPurchases: @unchecked Sendable {
    private unowned let world: World
    private var left: [RestoredPurchase]

    init(_ world: World, _ left: [RestoredPurchase]) {
      self.world = world
      self.left = left
    }

    func next() throws -> RestoredPurchase? {
      guard world.step("restore"), !world.sellerFails() else { throw SimulatedSeller.down }
      return left.isEmpty ? nil : left.removeFirst()
    }
  }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    let (stream, continuation) = AsyncStream<StoreEventRecord>.makeStream()
    events_ = continuation
    return stream
  }

  func storefront() async -> Storefront? { Storefront(countryCode: "FIN", identifier: "1") }
}
