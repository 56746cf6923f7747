import HostedModel
package import HostedTrust
package import HostedFileIO
package import FoundationEssentials

/// The catalog of a store from its verified metadata; blocks, may be used from any thread.
package final class Catalog: Sendable {
  private let client: TrustClient
  private let trustedRoot: [UInt8]?
  /// Nil if the client does not read a store.
  private let store: StoreAccess?
  private let records = RecordCache()

  package init(client: TrustClient, trustedRoot: [UInt8]?, of store: StoreAccess? = nil) {
    self.client = client
    self.trustedRoot = trustedRoot
    self.store = store
  }

  /// Creates the catalog of `store`, trusted by `trustedRoot` or by the store's own root.
  package convenience init(
    of store: StoreAccess, trustedRoot: [UInt8]?, trustFolder: Directory, isReadOnly: Bool = false,
    now: @escaping @Sendable () -> Date
  ) {
    let client = TrustClient(
      trustFolder: trustFolder, isReadOnly: isReadOnly, fetcher: store, now: now)
    self.init(client: client, trustedRoot: trustedRoot, of: store)
  }

  /// Creates the catalog that `reader` reads, with the trusted metadata in `trustFolder`.
  ///
  /// Only one catalog at a time may use the folder; the library of `reader` is not used. Does not
  /// connect yet; `close` ends transfers.
  package convenience init(
    _ reader: StoreReader, trustFolder: Directory,
    now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    self.init(
      of: try StoreAccess(reader), trustedRoot: reader.trustedRoot, trustFolder: trustFolder,
      now: now)
  }

  /// Whether the store is a folder, so that a refresh costs little.
  package var isLocal: Bool { store?.isLocal ?? false }

  /// Fetches new metadata and returns the catalog; throws the errors of `TrustClient`.
  package func refresh() throws -> CatalogSnapshot {
    let targets = try retryingOnce {
      try client.refresh(initialRoot: trustedRoot) { try store?.ownRoot() }
    }
    return CatalogSnapshot(targets, records)
  }

  /// Returns the catalog of the last refresh, also of an earlier process, without fetching.
  ///
  /// Returns nil before the first refresh.
  package func cached() throws -> CatalogSnapshot? {
    try client.cached(initialRoot: trustedRoot).map { CatalogSnapshot($0, records) }
  }

  /// Ends running transfers of the store; their callers get `stopped`.
  package func close() { store?.close() }
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
