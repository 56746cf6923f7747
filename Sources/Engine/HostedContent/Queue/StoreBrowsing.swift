import HostedConcurrency
import HostedModel
public import HostedTrust
import HostedFileIO
public import FoundationEssentials

extension StoreLocation {
  /// Looks up the products with these identifiers, or all products for nil; blocks.
  ///
  /// With a `library`, its trusted root and recorded versions are used, as its queue does. A store
  /// that was rolled back is refused (`metadataRolledBack`), and a `trustedRoot` must be connected
  /// to the library's root (`rootMismatch`). The library is not changed, and a queue may use it
  /// meanwhile: only a queue records newer versions.
  ///
  /// `trustedRoot` is the store's root metadata. If it is nil and the library does not have one,
  /// the root of a local store is trusted; the root of a store on the web is trusted only with
  /// `trustsOnFirstUse`; otherwise `rootMissing` is thrown. Without a library nothing is recorded,
  /// so a rollback is not detected. Throws `fileMissing` if the library does not exist. `mirrors`
  /// are other web servers with the same files.
  public func products(
    _ identifiers: Set<String>?, trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false,
    library: URL? = nil, mirrors: [StoreLocation] = [],
    network: NetworkSettings = NetworkSettings()
  ) throws -> ProductsResponse {
    try withCatalog(trustedRoot, trustsOnFirstUse, library, mirrors, network) { catalog in
      guard let identifiers else { return catalog.products(nil) }
      let (valid, invalid) = ProductsResponse.sorted(identifiers)
      return catalog.products(valid).adding(invalid: invalid)
    }
  }

  /// Calls `body` with all products in groups, and with the errors of products that cannot be read;
  /// blocks.
  ///
  /// In a task, use it in `performBlocking`. For catalogs of any size: only a few groups are in
  /// memory. Sorted within a group only. The other parameters are those of
  /// `products(_:trustedRoot:trustsOnFirstUse:library:mirrors:network:)`.
  public func forEachGroupOfProducts(
    trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false, library: URL? = nil,
    mirrors: [StoreLocation] = [], network: NetworkSettings = NetworkSettings(),
    _ body: (_ products: [Product], _ failures: [ContentError]) throws -> Void
  ) throws {
    try withCatalog(trustedRoot, trustsOnFirstUse, library, mirrors, network) {
      try $0.forEachList(body)
    }
  }

  /// Returns the keys that verify receipts of the store's sellers; blocks.
  ///
  /// Empty if the store does not list any. A queue with a `service` verifies with them already; use
  /// them in other programs, with `ReceiptVerifier`. The parameters are those of
  /// `products(_:trustedRoot:trustsOnFirstUse:library:mirrors:network:)`.
  public func receiptKeys(
    trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false, library: URL? = nil,
    mirrors: [StoreLocation] = [], network: NetworkSettings = NetworkSettings()
  ) throws -> [ReceiptVerificationKey] {
    try withCatalog(trustedRoot, trustsOnFirstUse, library, mirrors, network) {
      try $0.receiptKeys() ?? []
    }
  }

  /// Looks up products without blocking the caller's thread.
  ///
  /// See the blocking function with the same name.
  public func products(
    _ identifiers: Set<String>?, trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false,
    library: URL? = nil, mirrors: [StoreLocation] = [],
    network: NetworkSettings = NetworkSettings()
  ) async throws -> ProductsResponse {
    try await performBlocking {
      try self.products(
        identifiers, trustedRoot: trustedRoot, trustsOnFirstUse: trustsOnFirstUse,
        library: library, mirrors: mirrors, network: network)
    }
  }

  /// Returns the receipt keys without blocking the caller's thread.
  ///
  /// See the blocking function with the same name.
  public func receiptKeys(
    trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false, library: URL? = nil,
    mirrors: [StoreLocation] = [], network: NetworkSettings = NetworkSettings()
  ) async throws -> [ReceiptVerificationKey] {
    try await performBlocking {
      try self.receiptKeys(
        trustedRoot: trustedRoot, trustsOnFirstUse: trustsOnFirstUse, library: library,
        mirrors: mirrors, network: network)
    }
  }

  private func withCatalog<Value>(
    _ trustedRoot: [UInt8]?, _ trustsOnFirstUse: Bool, _ library: URL?, _ mirrors: [StoreLocation],
    _ network: NetworkSettings, _ body: (CatalogSnapshot) throws -> Value
  ) throws -> Value {
    let recorded = try library.flatMap(Self.trustFolder)
    let store = try StoreAccess(
      self, mirrors: mirrors, network: network, trustsOnFirstUse: trustsOnFirstUse)
    defer { store.close() }
    func look(_ trustFolder: Directory) throws -> Value {
      let catalog = Catalog(
        of: store, trustedRoot: trustedRoot, trustFolder: trustFolder, isReadOnly: recorded != nil,
        now: { Date() })
      return try body(catalog.refresh())
    }
    return try recorded.map(look) ?? FileSystem.real.withTemporaryDirectory(look)
  }

  /// Returns the folder with the library's trusted metadata; nil if it does not exist yet.
  ///
  /// Throws `fileMissing` if the library does not exist.
  private static func trustFolder(ofLibraryAt location: URL) throws -> Directory? {
    let path = try location.filePath(of: "library")
    let library: Directory
    do {
      library = try FileSystem.real.directory(at: path)
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError.noLibrary(at: path, error)
    }
    // Not `nilIf(.fileMissing)`: it is also thrown for a link, whose target may have newer
    // metadata.
    guard try library.status(of: "trust") != nil else { return nil }
    return try library.directory("trust")
  }
}
