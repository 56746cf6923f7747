public import HostedModel
public import FoundationEssentials

/// The state of a store: what it offers, what expires, and what needs attention.
public struct StoreStatus: Hashable, Codable, Sendable {
  /// The metadata of a role, and its keys.
  public struct Role: Hashable, Codable, Sendable {
    /// The role.
    public let role: StoreRole
    /// The version of its current metadata.
    public let version: Int64
    /// When this metadata expires.
    ///
    /// For targets, when the first of the targets metadata and its bins expires.
    public let expires: Date
    /// Whether it has expired.
    public let isExpired: Bool
    /// The keys that sign for the role.
    public let keys: Keys
  }

  /// The keys of a role.
  public struct Keys: Hashable, Codable, Sendable {
    /// The number of keys that the root lists.
    public let listed: Int
    /// The number of keys that must sign.
    public let required: Int
    /// The number of listed keys that are in the folders of the keys.
    public let present: Int
    /// The identifiers of the other listed keys.
    public let missing: [String]
    /// The number of key files that cannot be read, such as encrypted ones without a passphrase.
    public let unreadable: Int

    /// Whether there are enough keys to sign.
    public var canSign: Bool { present >= required }
  }

  /// The bytes of a store.
  public struct Sizes: Hashable, Codable, Sendable {
    /// The archives that the catalog lists.
    public let archives: Int64
    /// The indexes that the catalog lists.
    public let indexes: Int64
    /// The files of products and contents that the catalog lists: `product.json`.
    public let records: Int64
    /// All files of metadata and all records files, also of earlier catalogs.
    public let metadata: Int64
    /// All files of targets, also those that the catalog does not list.
    public let targets: Int64
  }

  /// The publication record compared with the store's metadata.
  public enum Record: String, Codable, Sendable {
    /// The record has the store's versions.
    case current
    /// The store has later versions: another machine published, or a publication was interrupted.
    case older
    /// The store has earlier or other versions than the record: its files may be from a backup.
    case newer
    /// The record does not exist, or this process cannot read it.
    case unavailable
  }

  /// The products with their versions, as `StoreFolder.products()` returns them.
  ///
  /// A product whose record cannot be read is not here; `attention` has an error.
  public let products: [StoredProduct]
  /// The bytes of the store's files.
  public let sizes: Sizes
  /// Root, targets, snapshot and timestamp.
  public let roles: [Role]
  /// The roles that `StoreFolder.refresh(everything:now:)` would sign again now.
  public let dueRoles: [StoreRole]
  /// The publication record compared with the store.
  public let record: Record
  /// The paths of files that the catalog refers to, and that are missing or have another length.
  public let missingFiles: [String]
  /// What `StoreFolder.prune(keepDays:now:)` would remove.
  public let prunable: PrunableFiles
  /// What needs attention now; empty if everything is fine.
  public let attention: [ContentError]
}
