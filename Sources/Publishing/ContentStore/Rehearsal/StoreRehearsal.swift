public import HostedModel
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
