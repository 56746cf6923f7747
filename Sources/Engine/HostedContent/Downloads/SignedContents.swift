import ContentModel
import FileIO
import Concurrency

/// What the store's signed catalog says of contents that a service names.
///
/// The service says which content by identifier and version. Lengths, digests and paths are the
/// catalog's. May be used from any thread.
final class SignedContents: Sendable {
  private let catalog: Catalog
  private let clock: EngineClock
  /// Whether a missing root is an error; else there is no catalog, and the service vouches.
  private let needsCatalog: Bool
  private let last = Mutex<Refresh?>(nil)
  // A refresh blocks; that must not hold up a thread of the task pool.
  private let calls = BlockingCalls(serial: "hostedcontent.contents")

  private struct Refresh {
    /// Nil for a store without a catalog.
    let snapshot: CatalogSnapshot?
    /// When it ended, in seconds of `EngineClock.uptime`.
    let uptime: Double
  }

  /// Seconds for which a refresh is used again, unless a content or version is not found in it.
  private static let lifetime = 60.0

  init(_ catalog: Catalog, _ configuration: PaymentQueue.Configuration) {
    self.catalog = catalog
    clock = configuration.clock
    needsCatalog =
      configuration.service == nil || configuration.trustsOnFirstUse
      || configuration.trustedRoot != nil
  }

  /// The signed offers of `contents` of `product`, in the same order.
  ///
  /// A version that the catalog does not have is replaced by the newest. A content that it does not
  /// have for this product is returned unresolved, with the reason, and so are all contents if the
  /// catalog cannot be refreshed. Without a catalog they are returned unchanged.
  func offers(for contents: [ContentOffer], of product: ProductIdentifier) async -> [ContentOffer] {
    guard !contents.isEmpty else { return [] }
    if let known = known(contents, product) { return known }
    do {
      return try await calls.run { self.resolve(contents, product) }
    } catch {
      return contents.map {
        $0.unresolved(for: product, because: ContentError(error, while: "closing"))
      }
    }
  }

  /// Looks nothing up any more, and waits until the store is not looked at.
  func close() { calls.close() }

  /// The signed offer of a content that was unresolved; blocks.
  ///
  /// Throws the reason if the catalog still does not have it.
  func offer(for content: ContentOffer) throws -> ContentOffer {
    let offer = resolve([content], content.productIdentifier).first ?? content
    if let problem = offer.problem { throw problem }
    return offer
  }

  /// Every version of the product's contents that the store has; nil without a catalog.
  func offers(of product: ProductIdentifier) async throws -> [ContentOffer]? {
    try await calls.run { try self.refresh()?.offers(of: product) }
  }

  /// What the last refresh has, if it is recent and has all of `contents` in these versions.
  private func known(_ contents: [ContentOffer], _ product: ProductIdentifier) -> [ContentOffer]? {
    let now = clock.uptime()
    guard let last = last.withLock({ $0 }), now - last.uptime < Self.lifetime else { return nil }
    guard let snapshot = last.snapshot else { return contents }
    let offers = contents.compactMap { content -> ContentOffer? in
      let offer = try? snapshot.offer(for: content, of: product)
      return offer?.version == content.version ? offer : nil
    }
    return offers.count == contents.count ? offers : nil
  }

  private func resolve(_ contents: [ContentOffer], _ product: ProductIdentifier) -> [ContentOffer] {
    // Another call may have refreshed the catalog while this one waited.
    if let known = known(contents, product) { return known }
    let refreshed = Result { try refresh() }
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
    var snapshot: CatalogSnapshot?
    do {
      snapshot = try catalog.refresh()
    } catch let error as ContentError where error.code == .rootMissing && !needsCatalog {}
    let refresh = Refresh(snapshot: snapshot, uptime: clock.uptime())
    last.withLock { $0 = refresh }
    return snapshot
  }
}
