import HostedConcurrency

/// Looks up contents that a service names, and its receipt keys, in the store's signed catalog.
///
/// The service chooses a content by identifier and version. Lengths, digests and paths come from
/// the catalog. May be used from any thread.
final class SignedContents: Sendable {
  private let catalog: Catalog
  private let clock: EngineClock
  /// Whether a missing root is an error; otherwise the service is trusted without a catalog.
  private let needsCatalog: Bool
  private let state = Mutex(State())
  // A refresh blocks, so it must not run on a thread of the task pool.
  private let calls = BlockingCalls(serial: "hostedcontent.contents")

  private struct State {
    /// The last refresh that succeeded, and when it ended, in seconds of `EngineClock.uptime`.
    ///
    /// The snapshot is nil if the store does not have a catalog.
    var last: (snapshot: CatalogSnapshot?, uptime: Double)?
    /// The number of refreshes that have ended.
    var count = 0
    /// The error of the refresh that ended last; nil if it succeeded.
    var error: (any Error)?
    var receiptKeys: ReceiptKeys?
    /// When a refused receipt last caused a refresh, in seconds of `EngineClock.uptime`.
    var refreshed = -Double.infinity
    /// When the catalog was last fetched because none was known, in the same seconds.
    var fetched = -Double.infinity
  }

  private struct ReceiptKeys {
    let catalogVersion: String
    /// Nil if the catalog lists none.
    let verifier: ReceiptVerifier?
  }

  /// How long a refresh is reused, in seconds, unless a content or version is not found in it, or
  /// the service names a withdrawn version that it lacks.
  private static let lifetime = 60.0

  init(_ catalog: Catalog, _ configuration: PaymentQueue.Configuration) {
    self.catalog = catalog
    clock = configuration.clock
    needsCatalog =
      configuration.service == nil || configuration.trustsOnFirstUse
      || configuration.trustedRoot != nil
  }

  /// Returns the signed offers of `contents` of `product`, in the same order.
  ///
  /// If the catalog does not have a version, the newest version replaces it. If it does not have
  /// the content for this product, the content is returned unresolved, with the reason. The same
  /// holds for all contents if the catalog cannot be refreshed. Without a catalog, they are
  /// returned unchanged.
  func offers(for contents: [ContentOffer], of product: ProductIdentifier) async -> [ContentOffer] {
    guard !contents.isEmpty else { return [] }
    let count = state.withLock { $0.count }
    do {
      return try await calls.run { self.resolve(contents, product, after: count) }
    } catch {
      return contents.map {
        $0.unresolved(for: product, because: ContentError(error, while: "closing"))
      }
    }
  }

  /// Stops look-ups and waits until none is in progress.
  func close() { calls.close() }

  /// Returns the signed offer of an unresolved content; blocks.
  ///
  /// Throws the reason if the catalog still does not have it.
  func offer(for content: ContentOffer) throws -> ContentOffer {
    let count = state.withLock { $0.count }
    let offer = resolve([content], content.productIdentifier, after: count).first ?? content
    if let problem = offer.problem { throw problem }
    return offer
  }

  /// Returns every version of the product's contents in the store; nil without a catalog.
  func offers(of product: ProductIdentifier) async throws -> [ContentOffer]? {
    try await calls.run { try self.refresh()?.offers(of: product) }
  }

  /// Returns offers from the last refresh if it is recent and has these versions of all `contents`.
  private func known(_ contents: [ContentOffer], _ product: ProductIdentifier) -> [ContentOffer]? {
    let now = clock.uptime()
    guard let last = state.withLock({ $0.last }), now - last.uptime < Self.lifetime else {
      return nil
    }
    guard let snapshot = last.snapshot else { return contents }
    let offers = contents.compactMap { content -> ContentOffer? in
      guard let offer = try? snapshot.offer(for: content, of: product),
        offer.version == content.version
      else { return nil }
      let withdrawn = Set(offer.withdrawnVersions)
      return withdrawn.isSuperset(of: content.withdrawnVersions) ? offer : nil
    }
    return offers.count == contents.count ? offers : nil
  }

  /// Looks up `contents`; the call began after `count` refreshes.
  private func resolve(
    _ contents: [ContentOffer], _ product: ProductIdentifier, after count: Int
  ) -> [ContentOffer] {
    // Another call may have refreshed the catalog while this one waited, or have failed to.
    if let known = known(contents, product) { return known }
    let error = state.withLock { $0.count > count ? $0.error : nil }
    let refreshed: Result<CatalogSnapshot?, any Error> = Result {
      if let error { throw error }
      return try refresh()
    }
    return contents.map { content in
      do {
        guard let snapshot = try refreshed.get() else { return content }
        return try snapshot.offer(for: content, of: product)
      } catch {
        let error = ContentError(error, while: "looking up \(content.contentIdentifier)")
        return content.unresolved(for: product, because: error.about(product.rawValue))
      }
    }
  }

  private func refresh() throws -> CatalogSnapshot? {
    let result: Result<CatalogSnapshot?, any Error> = Result {
      try needsCatalog ? catalog.refresh() : nilIf(.rootMissing) { try catalog.refresh() }
    }
    let uptime = clock.uptime()
    state.withLock { state in
      state.count += 1
      switch result {
      case .success(let snapshot):
        (state.last, state.error) = ((snapshot, uptime), nil)
      case .failure(let error): state.error = error
      }
    }
    return try result.get()
  }

  // MARK: Receipts

  /// Throws `receiptInvalid` if the catalog lists receipt keys, and none of them verifies the
  /// receipt of `grant`.
  ///
  /// The newest known catalog counts. After a refusal it is refreshed, at most once a minute,
  /// because the key may be new. If no catalog is known, or its list of keys cannot be read, the
  /// catalog is fetched, at most once a minute. Until that succeeds, receipts are not checked
  /// without a known catalog; with one, its error is thrown.
  func checkReceipt(of grant: Grant, ownAccount: AccountID?) async throws {
    // Usually without another thread: a restore checks thousands of receipts.
    var keys = knownReceiptKeys
    if keys == nil { keys = try await calls.run { try self.readReceiptKeys() } }
    do {
      try keys?.verifier?.check(grant, ownAccount: ownAccount, now: clock.now())
    } catch {
      let newer = try? await calls.run {
        // Another call may have refreshed them while this one waited.
        try self.isDue(\.refreshed)
          ? self.receiptKeys(of: self.refresh()) : self.readReceiptKeys()
      }
      guard let newer else { throw error }
      try newer.verifier?.check(grant, ownAccount: ownAccount, now: clock.now())
    }
  }

  /// The keys of the newest known catalog; nil if they were not read yet.
  private var knownReceiptKeys: ReceiptKeys? {
    let (version, keys) = state.withLock { ($0.last?.snapshot?.version, $0.receiptKeys) }
    guard let keys else { return nil }
    return version == nil || keys.catalogVersion == version ? keys : nil
  }

  /// Reads the keys of the newest known catalog, or else of the store's; nil without a catalog.
  private func readReceiptKeys() throws -> ReceiptKeys? {
    let last = state.withLock { $0.last }
    let known = Result { try receiptKeys(of: last == nil ? catalog.cached() : last?.snapshot) }
    if case .success(let keys) = known, keys != nil || last != nil { return keys }
    // A store that cannot be reached would delay each purchase.
    if isDue(\.fetched), let newest = try? refresh() { return try receiptKeys(of: newest) }
    // An unreadable catalog may list keys, so receipts cannot be accepted unchecked.
    return try known.get()
  }

  /// Returns whether `time` is at least a minute ago; if so, sets it to now.
  private func isDue(_ time: WritableKeyPath<State, Double>) -> Bool {
    let now = clock.uptime()
    return state.withLock { state in
      guard now - state[keyPath: time] >= Self.lifetime else { return false }
      state[keyPath: time] = now
      return true
    }
  }

  private func receiptKeys(of snapshot: CatalogSnapshot?) throws -> ReceiptKeys? {
    guard let snapshot else { return nil }
    let keys = ReceiptKeys(
      catalogVersion: snapshot.version,
      verifier: try snapshot.receiptKeys().map(ReceiptVerifier.init(keys:)))
    state.withLock { $0.receiptKeys = keys }
    return keys
  }
}
