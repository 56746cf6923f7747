import HostedModel
import HostedTrust
public import FoundationEssentials

/// The four roles that sign a store's metadata.
public enum StoreRole: String, CaseIterable, Hashable, Codable, Sendable {
  /// Lists the keys of all roles. Its own keys are best kept offline.
  case root
  /// Lists the files.
  case targets
  /// Lists the metadata files that belong together.
  case snapshot
  /// Names the newest snapshot, for a short time.
  case timestamp

  var name: RoleName {
    switch self {
    case .root: .root
    case .targets: .targets
    case .snapshot: .snapshot
    case .timestamp: .timestamp
    }
  }
}

/// The types of keys that can sign a store's metadata.
public enum StoreKeyType: String, CaseIterable, Sendable {
  /// Ed25519.
  case ed25519
  /// ECDSA over P-256 with SHA-256.
  case ecdsa
  /// RSASSA-PSS with SHA-256 and 3072 bits.
  case rsa

  var kind: KeyKind {
    switch self {
    case .ed25519: .ed25519
    case .ecdsa: .ecdsaP256
    case .rsa: .rsaPSS
    }
  }
}

/// The locations and passphrases of a store's keys and the location of its publication record.
public struct StoreKeyOptions: Hashable, Sendable {
  /// The folder of the keys for publishing; nil for `<store>.keys` beside the store.
  public var folder: URL? {
    get { folderPath.map { URL(filePath: $0) } }
    set { folderPath = Self.path(of: newValue) }
  }
  /// The folder of the root keys, which can be kept offline; nil for `root` in `folder`.
  public var rootFolder: URL? {
    get { rootFolderPath.map { URL(filePath: $0) } }
    set { rootFolderPath = Self.path(of: newValue) }
  }
  /// The folder of the publication record and the publishers' lock; nil for the keys' folder.
  ///
  /// Needed if the keys' folder is read-only. It is created if it does not exist, and must not be
  /// in the store.
  public var stateFolder: URL? {
    get { stateFolderPath.map { URL(filePath: $0) } }
    set { stateFolderPath = Self.path(of: newValue) }
  }
  /// The passphrase of the keys, 1 to 1023 bytes without zeros; nil for unencrypted keys.
  public var passphrase: [UInt8]?
  /// The passphrases of the root keys: one for all, or one for each; if empty, `passphrase` is
  /// used.
  ///
  /// New root keys are encrypted with these passphrases in order. To sign, the passphrases of the
  /// custodians who are present are enough, in any order.
  public var rootPassphrases: [[UInt8]]

  var folderPath: String?
  package private(set) var rootFolderPath: String?
  var stateFolderPath: String?

  /// Creates options.
  ///
  /// By default, the folders are beside the store, and the keys are not encrypted.
  public init(
    folder: URL? = nil, rootFolder: URL? = nil, stateFolder: URL? = nil,
    passphrase: [UInt8]? = nil, rootPassphrases: [[UInt8]] = []
  ) {
    self.init(passphrase: passphrase, rootPassphrases: rootPassphrases, folderPath: nil)
    self.folder = folder
    self.rootFolder = rootFolder
    self.stateFolder = stateFolder
  }

  /// Creates options with unchanged paths, as messages show them.
  package init(
    passphrase: [UInt8]? = nil, rootPassphrases: [[UInt8]] = [], folderPath: String?,
    rootFolderPath: String? = nil, stateFolderPath: String? = nil
  ) {
    self.folderPath = folderPath
    self.rootFolderPath = rootFolderPath
    self.stateFolderPath = stateFolderPath
    self.passphrase = passphrase
    self.rootPassphrases = rootPassphrases
  }

  /// The path of a file URL; another URL stays, so that `check` refuses it.
  private static func path(of url: URL?) -> String? {
    url.map { $0.isFileURL ? $0.path(percentEncoded: false) : $0.absoluteString }
  }

  /// Throws `usage` for a passphrase that libcrypto would truncate, and for a folder that is a URL.
  func check() throws {
    for path in [folderPath, rootFolderPath, stateFolderPath].compactMap(\.self)
    where path.contains("://") {
      throw ContentError(
        .usage, "The keys or state folder “\(path.printable(limit: 200))” is a URL",
        remedy: "Use a folder of this machine", subject: path)
    }
    for passphrase in [passphrase].compactMap({ $0 }) + rootPassphrases
    where !(1...1023).contains(passphrase.count) || passphrase.contains(0) {
      throw ContentError(
        .usage, "A passphrase is empty, longer than 1023 bytes, or has a zero byte",
        remedy: "Use another passphrase")
    }
  }

  /// Throws `usage` unless the passphrases fit `count` new root keys.
  func check(newRootKeys count: Int) throws {
    guard ![0, 1, count].contains(rootPassphrases.count) else { return }
    throw ContentError(
      .usage, "\(rootPassphrases.count) passphrases for \(count) new root keys",
      remedy: "Use one passphrase for all root keys, or one for each")
  }
}

/// The type, number and threshold of the keys of each role.
public struct StoreKeyPlan: Hashable, Sendable {
  /// The type of new keys.
  public var type: StoreKeyType
  /// The number of keys of a role, 1 to 64.
  ///
  /// The default is one, or the current number.
  public var counts: [StoreRole: Int]
  /// The number of keys that must sign, 1 to the number of keys.
  ///
  /// The default is one, or the current threshold.
  public var thresholds: [StoreRole: Int]

  /// Creates a plan.
  ///
  /// The default is one Ed25519 key for each role.
  public init(
    type: StoreKeyType = .ed25519, counts: [StoreRole: Int] = [:],
    thresholds: [StoreRole: Int] = [:]
  ) {
    self.type = type
    self.counts = counts
    self.thresholds = thresholds
  }

  /// The number of keys of `role` and its threshold; throws `usage` if they are invalid.
  func numbers(of role: StoreRole, known: RoleKeys? = nil) throws -> (count: Int, threshold: Int) {
    let count = counts[role] ?? known?.identifiers.count ?? 1
    let threshold = thresholds[role] ?? known.map { Int(clamping: $0.threshold) } ?? 1
    guard (1...64).contains(count), (1...count).contains(threshold) else {
      throw ContentError(
        .usage, "Cannot require \(threshold) of \(count) \(role.rawValue) keys",
        remedy: "Use 1 to 64 keys, and a threshold from 1 to the number of keys",
        subject: role.rawValue)
    }
    return (count, threshold)
  }
}
