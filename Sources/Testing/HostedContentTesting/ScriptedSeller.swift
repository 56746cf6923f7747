import ContentModel
import FoundationEssentials
import HostedContent
import Concurrency

/// The seller of one engine: the store's own seller, overridden by the session's script.
final class ScriptedSeller: StoreService {
  private let store: any StoreService
  private let book: SessionScript
  private let clock: TestClock
  private let stream: AsyncStream<StoreEventRecord>
  private let sender: AsyncStream<StoreEventRecord>.Continuation

  init(_ store: any StoreService, _ book: SessionScript, _ clock: TestClock) {
    self.store = store
    self.book = book
    self.clock = clock
    (stream, sender) = AsyncStream.makeStream()
  }

  func send(_ event: StoreEvent, cursor: String? = nil) {
    sender.yield(StoreEventRecord(event, cursor: cursor))
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await store.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await store.allProducts() }

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    let answer = book.change { $0.answer(to: payment, transaction: transaction) }
    if let answer { return answer }
    // The store's own seller would ask again.
    var payment = payment
    payment.simulatesAskToBuy = false
    return try await store.purchase(payment, transaction: transaction)
  }

  func grants(account: String?) async throws -> [Grant] {
    let grants = try await store.grants(account: account)
    let now = clock.now
    return book.change { $0.valid(grants, at: now) }
  }

  /// All grants, including those that the account no longer owns.
  func history(account: String?) async throws -> [Grant] {
    try await store.grants(account: account)
  }

  func restore(account: String?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    .finding { [self] found in try await restore(account, found) }
  }

  private func restore(_ account: String?, _ found: (RestoredPurchase) -> Void) async throws {
    let failure = book.change { script in
      defer { script.restoreFailure = nil }
      return script.restoreFailure
    }
    var count = 0
    for try await purchase in PlainRestore(seller: self).restore(account: account) {
      if let failure, count >= failure.after { throw failure.error }
      found(purchase)
      count += 1
    }
    if let failure { throw failure.error }
  }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> { stream }

  func storefront() async -> Storefront? { book.change { $0.storefront } }
}

/// A seller with the default restore, which uses only its grants.
private struct PlainRestore: StoreService {
  let seller: ScriptedSeller

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await seller.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await seller.allProducts() }

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    try await seller.purchase(payment, transaction: transaction)
  }

  func grants(account: String?) async throws -> [Grant] {
    try await seller.grants(account: account)
  }
}

/// The script of a session; it outlives the sellers that use it.
final class SessionScript: Sendable {
  private let script = Mutex(SellerScript())

  /// Reads or changes the script.
  func change<Value: Sendable>(_ body: (inout SellerScript) throws -> Value) rethrows -> Value {
    try script.withLock { try body(&$0) }
  }
}

/// The script and the current seller of a session.
final class SellerControl: Sendable {
  private let book = SessionScript()
  private let current = Mutex<ScriptedSeller?>(nil)

  /// Reads or changes the script.
  func change<Value: Sendable>(_ body: (inout SellerScript) throws -> Value) rethrows -> Value {
    try book.change(body)
  }

  /// The seller of the last launched engine.
  var seller: ScriptedSeller? { current.withLock { $0 } }

  /// Creates the seller of a new engine, which overrides the store's own seller.
  func makeSeller(over store: any StoreService, _ clock: TestClock) -> any StoreService {
    let seller = ScriptedSeller(store, book, clock)
    current.withLock { $0 = seller }
    return seller
  }
}
