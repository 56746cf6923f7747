import FoundationEssentials
import ContentModel
import HostedContent

/// The seller of a simulation.
///
/// It survives crashes, and repeats its answers.
// Sendable, because only the scheduled thread uses it.
final class SimulatedSeller: StoreService, @unchecked Sendable {
  private unowned let world: World
  private var granted: [Grant] = []
  /// Permanent refusals, by transaction.
  private var refused: [String: ContentError] = [:]
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
    let grant = Grant(
      transactionIdentifier: "elsewhere-\(purchases)",
      date: Date(timeIntervalSince1970: Double(purchases)),
      payment: Payment(productIdentifier: product.identifier))
    granted.append(grant)
    send(.granted(grant, contents: offers(of: product)))
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

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    guard world.step("purchase \(payment.productIdentifier)"), !world.sellerFails() else {
      throw Self.down
    }
    let outcome = answer(payment, transaction.rawValue, isRefused: nil)
    // The answer may be lost, although the purchase counts.
    guard world.step("answer the purchase"), !world.sellerFails() else { throw Self.down }
    return outcome
  }

  private func answer(_ payment: Payment, _ transaction: String, isRefused: Bool?)
    -> PurchaseOutcome
  {
    guard let product = products.first(where: { $0.identifier == payment.productIdentifier }) else {
      return .failed(ContentError(.productUnknown, "Not offered", remedy: "Buy another product"))
    }
    if let known = granted.first(where: { $0.transactionIdentifier == transaction }) {
      return .purchased(known, contents: offers(of: product))
    }
    if let error = refused[transaction] { return .failed(error) }
    if isRefused == nil, world.choices.happens(.action, oneIn: world.isHealing ? 0 : 8) {
      deferred[transaction] = payment
      return .deferred
    }
    if isRefused ?? world.choices.happens(.action, oneIn: 10) {
      let error = ContentError(.notEntitled, "Refused", remedy: "Try again")
      refused[transaction] = error
      return .failed(error)
    }
    deferred[transaction] = nil
    purchases += 1
    let grant = Grant(
      transactionIdentifier: transaction,
      date: Date(timeIntervalSince1970: Double(purchases)), payment: payment,
      receipt: "receipt of \(transaction)")
    granted.append(grant)
    return .purchased(grant, contents: offers(of: product))
  }

  func grants(account: String?) async throws -> [Grant] {
    guard world.step("list grants"), !world.sellerFails() else { throw Self.down }
    return granted.filter { $0.payment.applicationUsername == account }
  }

  func restore(account: String?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    var seen: Set<ProductIdentifier> = []
    let left = granted.filter { grant in
      grant.payment.applicationUsername == account
        && products.contains {
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
