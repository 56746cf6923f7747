import HostedDigests
import HostedFileIO
public import HostedModel
import HostedPackage
import HostedTrust

/// What a change of a store would do; see `StoreFolder.rehearse(_:)`.
public struct StoreRehearsal: Hashable, Sendable {
  /// A file that would be written or removed.
  public struct File: Hashable, Codable, Sendable {
    /// What a file contains.
    public enum Kind: String, Codable, Sendable {
      /// A content package.
      case archive
      /// The index of a content package.
      case index
      /// The signed entry of a product or of a content with an identifier of its own, or the list
      /// of receipt keys.
      case record
      /// A file in `metadata`: signed metadata, or the records of a list.
      case metadata
      /// A signing key.
      case key
      /// The publication record.
      case publicationRecord
    }

    /// What it contains.
    public let kind: Kind
    /// The path below the store's folder; the whole path of a key or a publication record.
    public let path: String
    /// The length in bytes.
    ///
    /// ECDSA signatures have different lengths, so the real length of metadata can differ by a few
    /// bytes for each of them.
    public let bytes: Int64
  }

  /// The files that would be written or replaced, in the order of writing.
  public internal(set) var files: [File] = []
  /// The files that would be removed.
  public internal(set) var removedFiles: [File] = []
  /// What clients would see, by product; empty if the catalog would not change.
  public internal(set) var changes: [CatalogChange] = []
  /// What updates to the new versions would fetch, by product and content.
  public internal(set) var updates: [UpdateEstimate] = []

  /// The length of all files that would be written, in bytes.
  public var bytes: Int64 { files.reduce(0) { $0 + $1.bytes } }
}

/// A change of a product, as clients see it.
public struct CatalogChange: Hashable, Sendable {
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// Whether the catalog does not have the product yet.
  public let isNew: Bool
  /// The changed fields of the description: texts first, by language.
  public let fields: [ProductChange.Field]
  /// The versions that would be offered, and were not.
  public let addedVersions: [StoredVersion]
  /// The versions that would no longer be offered.
  public let retiredVersions: [StoredVersion]

  /// The change from `old` to `new`; nil if clients see no difference.
  init?(from old: CatalogRecord?, to new: CatalogRecord) {
    productIdentifier = new.product
    isNew = old == nil
    fields = ProductChange(from: old?.description, to: new.description)?.fields ?? []
    addedVersions = new.offers(missingIn: old).map(StoredVersion.init)
    retiredVersions = (old?.offers(missingIn: new) ?? []).map(StoredVersion.init)
    let isEmpty = fields.isEmpty && addedVersions.isEmpty && retiredVersions.isEmpty
    if isEmpty, !isNew { return nil }
  }
}

/// What an update of a content to a new version would fetch.
public struct UpdateEstimate: Hashable, Codable, Sendable {
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The content; equal to the product unless it has several.
  public let contentIdentifier: ProductIdentifier
  /// A published version, whose files are installed unchanged.
  public let installed: ContentVersion
  /// The new version.
  public let offered: ContentVersion
  /// The maximum bytes that the update fetches, with the index of the new version.
  ///
  /// A web server also sends the bytes between two pieces that share a request, up to 16 KiB for
  /// each gap. Nil if the index of the installed version is lost.
  public let bytesToMove: Int64?
  /// Bytes of a download without installed files.
  public let bytesInFull: Int64
  /// The reason, one sentence, why the whole package is fetched; nil if members suffice.
  public let wholePackageReason: String?
}

extension CatalogRecord {
  /// The number of lower versions from which updates are estimated.
  private static let lowerVersions = 3

  func offers(missingIn other: CatalogRecord?) -> [ContentOffer] {
    offers.filter { other?.offer($0.contentIdentifier, $0.version) == nil }
  }

  /// The updates to the newest versions, if `old` does not have them, from its last versions.
  ///
  /// `indexes` are those of new packages, by the digest of the package; `store` has the others.
  func updates(
    from old: CatalogRecord?, _ indexes: [Digest: PackageIndex], in store: Directory
  ) throws -> [UpdateEstimate] {
    guard let old else { return [] }
    let new = Set(offers(missingIn: old))
    return try newestOffers.filter(new.contains).flatMap { offer -> [UpdateEstimate] in
      guard let index = indexes[offer.package.digest] else { return [] }
      let lower = old.offers.filter {
        $0.contentIdentifier == offer.contentIdentifier && $0.version < offer.version
      }
      return try lower.prefix(Self.lowerVersions).map {
        try UpdateEstimate(from: $0, to: offer, index, in: store)
      }
    }
  }
}

extension UpdateEstimate {
  fileprivate init(
    from old: ContentOffer, to new: ContentOffer, _ index: PackageIndex, in store: Directory
  ) throws {
    productIdentifier = new.productIdentifier
    contentIdentifier = new.contentIdentifier
    installed = old.version
    offered = new.version
    bytesInFull = new.package.length + new.index.length
    guard index.payload != nil else {
      bytesToMove = bytesInFull
      wholePackageReason = index.obstacle ?? "Its index does not list members"
      return
    }
    wholePackageReason = nil
    let members = try old.storedIndex(in: store).flatMap { index.bytesToFetch(updating: $0) }
    bytesToMove = members.map { $0 + new.index.length }
  }
}

extension ContentOffer {
  /// The index as signed, from the folder of the store; nil if it is lost or cannot be read.
  fileprivate func storedIndex(in store: Directory) throws -> PackageIndex? {
    let path = index.path.pathComponents()
    do {
      let folder = try store.directory(at: path.dropLast())
      let bytes = try folder.contents(of: path.last ?? "", limit: PackageIndex.maximumLength)
      guard try Digest(of: bytes) == index.digest else { return nil }
      return try PackageIndex(encoded: bytes)
    } catch let error as ContentError
      where [.fileMissing, .limitExceeded, .storeDamaged, .formatUnknown].contains(error.code)
    {
      return nil
    }
  }
}
