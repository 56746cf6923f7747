package import FileIO
package import FoundationEssentials

/// The catalog of a store for a server that sells its products.
///
/// Thread-safe; calls block.
package final class ServedCatalog: Sendable {
  private let store: StoreAccess
  private let catalog: Catalog
  /// Whether the store is a folder, so that a refresh costs little.
  package let isLocal: Bool

  /// Creates a catalog that keeps the trusted metadata in `trustFolder`; does not connect yet.
  ///
  /// Only one catalog at a time may use the folder. The other parameters are those of
  /// `StoreLocation.products`.
  package init(
    of location: StoreLocation, trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false,
    mirrors: [StoreLocation] = [], network: NetworkSettings = NetworkSettings(),
    trustFolder: Directory, now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    store = try StoreAccess(
      location, mirrors: mirrors, network: network, trustsOnFirstUse: trustsOnFirstUse)
    catalog = Catalog(
      of: store, trustedRoot: trustedRoot, trustFolder: trustFolder, now: now)
    isLocal = if case .folder = location.place { true } else { false }
  }

  /// Fetches new metadata and returns the catalog.
  package func refresh() throws -> CatalogSnapshot { try catalog.refresh() }

  /// Returns the catalog of the last refresh, also of an earlier process, without fetching.
  package func cached() throws -> CatalogSnapshot? { try catalog.cached() }

  /// Ends running transfers; their callers get `stopped`.
  package func close() { store.close() }
}
