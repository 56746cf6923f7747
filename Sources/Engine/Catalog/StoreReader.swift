public import FoundationEssentials
import HostedConcurrency
import HostedFileIO
public import HostedModel
public import HostedTrust

/// A store, and how to read and trust it, with or without a queue.
///
/// Each call reads the newest catalog. The library is not changed, and a queue may use it
/// meanwhile: only a queue records newer versions. Calls throw `fileMissing` if the library does
/// not exist.
public struct StoreReader: Sendable {
  /// The location of the store.
  public var store: StoreLocation
  /// The store's root metadata (TUF); nil uses the root of the library, or of a local store.
  ///
  /// If it is nil and the library does not have a root either, the root of a store on the web is
  /// trusted only with `trustsOnFirstUse`; otherwise calls throw `rootMissing`.
  public var trustedRoot: [UInt8]?
  /// Whether the first root of a store on the web is trusted.
  public var trustsOnFirstUse: Bool
  /// A library whose trusted root and recorded versions are used, as its queue does.
  ///
  /// A store that was rolled back is refused (`metadataRolledBack`), and a `trustedRoot` must be
  /// connected to the library's root (`rootMismatch`). Without a library nothing is recorded, so a
  /// rollback is not detected.
  public var library: URL?
  /// Other web servers with the same files, tried in order of their health.
  public var mirrors: [StoreLocation]
  /// The network settings for the store and its mirrors.
  public var network: NetworkSettings

  /// Creates a reader of a store.
  public init(
    _ store: StoreLocation, trustedRoot: [UInt8]? = nil, trustsOnFirstUse: Bool = false,
    library: URL? = nil, mirrors: [StoreLocation] = [],
    network: NetworkSettings = NetworkSettings()
  ) {
    self.store = store
    self.trustedRoot = trustedRoot
    self.trustsOnFirstUse = trustsOnFirstUse
    self.library = library
    self.mirrors = mirrors
    self.network = network
  }

  /// Looks up the products with these identifiers, or all products for nil.
  ///
  /// Does not block the caller's thread. The response lists identifiers that the store does not
  /// offer.
  public func products(_ identifiers: Set<String>? = nil) async throws -> ProductsResponse {
    try await performBlocking { try self.products(identifiers) }
  }

  /// Looks up the products with these identifiers, or all products for nil; blocks.
  package func products(_ identifiers: Set<String>? = nil) throws -> ProductsResponse {
    try withCatalog { catalog in
      guard let identifiers else { return catalog.products(nil) }
      let (valid, invalid) = ProductsResponse.sorted(identifiers)
      return catalog.products(valid).adding(invalid: invalid)
    }
  }

  /// Calls `body` with all products in groups, and with the errors of products that cannot be read;
  /// blocks.
  ///
  /// In a task, use it in `performBlocking`. For catalogs of any size: only a few groups are in
  /// memory. Sorted within a group only.
  public func forEachGroupOfProducts(
    _ body: (_ products: [Product], _ failures: [ContentError]) throws -> Void
  ) throws {
    try withCatalog { try $0.forEachList(body) }
  }

  /// Returns the keys that verify receipts of the store's sellers.
  ///
  /// Does not block the caller's thread. Empty if the store does not list any. A queue with a
  /// `service` verifies with them already; use them in other programs, with `ReceiptVerifier`.
  public func receiptKeys() async throws -> [ReceiptVerificationKey] {
    try await performBlocking { try withCatalog { try $0.receiptKeys() ?? [] } }
  }

  private func withCatalog<Value>(_ body: (CatalogSnapshot) throws -> Value) throws -> Value {
    let recorded = try library.flatMap(Self.trustFolder)
    let store = try StoreAccess(self)
    defer { store.close() }
    func read(_ trustFolder: Directory) throws -> Value {
      let catalog = Catalog(
        of: store, trustedRoot: trustedRoot, trustFolder: trustFolder, isReadOnly: recorded != nil,
        now: { Date() })
      return try body(catalog.refresh())
    }
    return try recorded.map(read) ?? FileSystem.real.withTemporaryDirectory(read)
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

extension StoreReader: CustomStringConvertible {
  /// The locations of the store and its mirrors.
  public var description: String {
    ([store] + mirrors).map(\.description).joined(separator: ", ")
  }
}

extension ContentError {
  /// A library does not exist at `path`.
  package static func noLibrary(at path: String, _ error: ContentError) -> ContentError {
    ContentError(
      .fileMissing, "No library found at \(path)",
      remedy: "Check the path. A payment queue creates the library", subject: path,
      cause: error.cause)
  }
}
