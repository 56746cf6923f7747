import ContentModel
import ContentTrust
import FileIO
public import FoundationEssentials

extension StoreLocation {
  /// Looks up the products that `identifiers` name, or all that the store offers; blocks.
  ///
  /// With a `library`, its trusted root and its recorded versions count, as they do for its queue:
  /// a store that was rolled back is refused (`metadataRolledBack`), and a `trustedRoot` must be
  /// connected to the library's (`rootMismatch`). The library is not changed, and a queue may work
  /// on it meanwhile: only a queue records newer versions.
  ///
  /// `trustedRoot` is the store's root metadata. If it is nil and the library has none, the root of
  /// a local store is trusted, and that of a store on the web with `trustsOnFirstUse`. Without a
  /// library nothing is recorded, so a rollback is not noticed. `mirrors` are other web servers
  /// with the same files.
  public func products(
    _ identifiers: Set<String>?, trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false,
    library: URL? = nil, mirrors: [StoreLocation] = [],
    network: NetworkSettings = NetworkSettings()
  ) throws -> ProductsResponse {
    let recorded = try library.flatMap(Self.trustFolder)
    let store = try StoreAccess(
      self, mirrors: mirrors, network: network, trustsOnFirstUse: trustsOnFirstUse)
    defer { store.close() }
    func look(_ trustFolder: Directory) throws -> ProductsResponse {
      let catalog = Catalog(
        of: store, trustedRoot: trustedRoot, trustFolder: trustFolder, isReadOnly: recorded != nil,
        now: { Date() })
      let snapshot = try catalog.refresh()
      return identifiers.map { ProductsResponse(to: $0, from: snapshot.products) }
        ?? snapshot.products(nil)
    }
    return try recorded.map(look) ?? FileSystem.real.withTemporaryDirectory(look)
  }

  /// The folder with the trusted metadata of the library at `location`; nil if it has none yet.
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
    guard try library.status(of: "trust") != nil else { return nil }
    return try library.directory("trust")
  }
}
