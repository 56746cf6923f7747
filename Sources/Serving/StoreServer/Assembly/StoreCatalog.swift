import HostedConcurrency
package import HostedModel
package import HostedContent
import HostedStoreAPI
package import HostedShop

/// The catalog of a store, as a server sells it.
///
/// It serves the last catalog while the store cannot be reached. Thread-safe; calls block.
package final class StoreCatalog: ListedCatalog {
  private let source: Catalog
  private let report: @Sendable (ContentError) -> Void
  /// One refresh at a time, so that an older catalog does not replace a newer one.
  private let refreshes = OperationLock()
  private let state: Mutex<State>

  private struct State {
    var loaded: CatalogSnapshot
    /// The version of the last catalog that was fetched; nil before the first one.
    var fetchedVersion: String?
    /// Products that were looked up in it.
    var products: [ProductIdentifier: Product] = [:]
    /// The keys with which queues verify receipts; nil if the store lists none, or the list could
    /// not be read.
    var receiptKeys: [ReceiptVerificationKey]?
    var isRefreshing = false
    var refreshed: ContinuousClock.Instant?
    /// Why the last refresh failed.
    var failure: ContentError.Code?
  }

  private static let maximumProducts = 4_096
  /// The minimum time between two refreshes.
  private static let minimumAge = Duration.seconds(1)

  /// Loads the catalog; an earlier one if the store cannot be reached.
  ///
  /// `report` gets the first error of refreshes that fail in a row.
  package init(_ source: Catalog, report: @escaping @Sendable (ContentError) -> Void) throws {
    self.source = source
    self.report = report
    let first: State
    do {
      let loaded = try source.refresh()
      first = State(
        loaded: loaded, fetchedVersion: loaded.version, receiptKeys: try? loaded.receiptKeys(),
        refreshed: ContinuousClock.now)
    } catch {
      guard let loaded = try source.cached() else { throw error }
      let failure = ContentError(error, while: "reading the catalog")
      report(failure)
      first = State(
        loaded: loaded, receiptKeys: try? loaded.receiptKeys(), failure: failure.code)
    }
    state = Mutex(first)
  }

  /// Refreshes the catalog if it is older than the usual interval.
  package func refreshPeriodically() {
    refresh(olderThan: source.isLocal ? Self.minimumAge : .seconds(10))
  }

  /// The version of the newest catalog; nil if the store was not reached yet.
  ///
  /// The catalog of an earlier run lacks the version of its snapshot, so its version is another.
  var fetchedVersion: String? { state.withLock { $0.fetchedVersion } }

  /// Ends running requests to the store.
  package func close() { source.close() }

  // MARK: Products

  package var version: String { current.version }

  package func products(_ identifiers: Set<ProductIdentifier>) throws -> SaleProducts {
    let (loaded, known) = state.withLock { state in
      (state.loaded, identifiers.compactMap { state.products[$0] })
    }
    let missing = identifiers.subtracting(known.map(\.productIdentifier))
    guard !missing.isEmpty else { return SaleProducts(products: known) }
    let found = try lookUp(missing, in: loaded)
    return SaleProducts(
      products: found.products + known, invalid: found.invalidProductIdentifiers,
      failures: found.failures)
  }

  package func page(after position: ProductIdentifier?, limit: Int) throws -> SaleProducts {
    let page = try current.page(after: position, limit: limit)
    return SaleProducts(products: page.products, failures: page.failures, next: page.next)
  }

  package func known(_ identifiers: Set<ProductIdentifier>) -> SaleProducts? {
    let known = state.withLock { state in identifiers.compactMap { state.products[$0] } }
    return known.count == identifiers.count ? SaleProducts(products: known) : nil
  }

  package func offers(of product: ProductIdentifier) throws -> [ContentOffer] {
    try current.offers(of: product)
  }

  /// Returns why queues would refuse receipts of `key`: the store lists keys, but not this one.
  ///
  /// Nil if the store lists none, or the list could not be read. Does not block.
  func obstacle(to key: ReceiptVerificationKey) -> ContentError? {
    guard let keys = state.withLock({ $0.receiptKeys }), !keys.contains(key) else { return nil }
    return ContentError(
      .keyUnusable, "The store does not list the public key that verifies this server's receipts",
      remedy: "Add receipt-key.pub.pem of the data folder to the receipt keys of the store, or "
        + "restore the listed key there. The server does not sell until then")
  }

  /// Looks up products, once more if the store may have published them in the meantime.
  private func lookUp(_ identifiers: Set<ProductIdentifier>, in loaded: CatalogSnapshot) throws
    -> ProductsResponse
  {
    let response = loaded.products(identifiers)
    guard !response.invalidProductIdentifiers.isEmpty else {
      remember(response.products, loaded.version)
      return response
    }
    refresh(olderThan: Self.minimumAge)
    let newer = current
    return newer.version == loaded.version ? response : newer.products(identifiers)
  }

  private func remember(_ products: [Product], _ version: String) {
    state.withLock { state in
      guard state.loaded.version == version else { return }
      if state.products.count + products.count > Self.maximumProducts { state.products = [:] }
      for product in products { state.products[product.productIdentifier] = product }
    }
  }

  private var current: CatalogSnapshot { state.withLock { $0.loaded } }

  // MARK: Refreshes

  /// Does nothing if the catalog is new enough, or if another thread refreshes it.
  private func refresh(olderThan age: Duration) {
    let isDue = state.withLock { state in
      let isOld = state.refreshed.map { $0.duration(to: ContinuousClock.now) >= age } ?? true
      guard isOld, !state.isRefreshing else { return false }
      state.isRefreshing = true
      return true
    }
    guard isDue else { return }
    do {
      try refreshNow()
    } catch {
      let error = ContentError(error, while: "reading the catalog")
      let isNew = state.withLock { state in
        state.isRefreshing = false
        state.refreshed = ContinuousClock.now
        defer { state.failure = error.code }
        return state.failure != error.code
      }
      // A server that stops ends a refresh in progress.
      if isNew, error.code != .stopped { report(error) }
    }
  }

  /// Fetches the catalog, even if it is new.
  package func refreshNow() throws {
    try refreshes.withLock {
      let loaded = try source.refresh()
      let isNew = state.withLock { $0.loaded.version != loaded.version }
      // Read here, because a request must not wait for the store.
      let keys = isNew ? try? loaded.receiptKeys() : nil
      state.withLock { state in
        state.isRefreshing = false
        state.refreshed = ContinuousClock.now
        if isNew { (state.products, state.receiptKeys) = ([:], keys) }
        (state.loaded, state.fetchedVersion, state.failure) = (loaded, loaded.version, nil)
      }
    }
  }
}
