import ContentModel
import ContentPackage
package import ContentTrust
import FileIO
import FoundationEssentials
import Concurrency

/// The catalog of a store from its verified metadata; blocks, may be used from any thread.
package final class Catalog: Sendable {
  private let client: TrustClient
  private let trustedRoot: [UInt8]?
  private let firstUse: @Sendable () throws -> [UInt8]?
  private let records = RecordCache()

  /// Creates a catalog.
  ///
  /// Without a `trustedRoot`, the first refresh of a library starts from the root that `firstUse`
  /// returns.
  package init(
    client: TrustClient, trustedRoot: [UInt8]?,
    firstUse: @escaping @Sendable () throws -> [UInt8]? = { nil }
  ) {
    self.client = client
    self.trustedRoot = trustedRoot
    self.firstUse = firstUse
  }

  /// Creates the catalog of `store`, trusted by `trustedRoot` or by the store's own root.
  convenience init(
    of store: StoreAccess, trustedRoot: [UInt8]?, trustFolder: Directory, isReadOnly: Bool = false,
    now: @escaping @Sendable () -> Date
  ) {
    self.init(
      client: TrustClient(
        trustFolder: trustFolder, isReadOnly: isReadOnly, fetcher: store, now: now),
      trustedRoot: trustedRoot, firstUse: store.ownRoot)
  }

  /// Fetches new metadata and returns the catalog; throws the errors of `TrustClient`.
  package func refresh() throws -> CatalogSnapshot {
    snapshot(
      try retryingOnce { try client.refresh(initialRoot: trustedRoot, firstUse: firstUse) })
  }

  /// Returns the catalog of the last refresh without fetching; nil before the first refresh.
  package func cached() throws -> CatalogSnapshot? {
    try client.cached(initialRoot: trustedRoot).map { snapshot($0) }
  }

  private func snapshot(_ targets: TrustedTargets) -> CatalogSnapshot {
    CatalogSnapshot(targets, records)
  }
}

/// Runs `body`, and once more if it received bytes that do not match the signed metadata.
///
/// Another server, such as a login page, may have responded instead of the store.
func retryingOnce<Value>(_ body: () throws -> Value) throws -> Value {
  do {
    return try body()
  } catch let error as ContentError
    where [.metadataDamaged, .digestMismatch, .signatureInvalid].contains(error.code)
  {
    return try body()
  }
}
