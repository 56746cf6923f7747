import ContentModel
import ContentTrust

/// The four roles that sign a store's metadata.
public enum StoreRole: String, CaseIterable, Hashable, Sendable {
  /// Says which keys the roles have; best kept off-line.
  case root
  /// Says what files there are.
  case targets
  /// Says which metadata belongs together.
  case snapshot
  /// Says which snapshot is the newest, for a short time.
  case timestamp

  /// The role as metadata knows it.
  var name: RoleName {
    switch self {
    case .root: .root
    case .targets: .targets
    case .snapshot: .snapshot
    case .timestamp: .timestamp
    }
  }
}

/// The kinds of keys that can sign a store's metadata.
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

/// Where a store's keys and its publication record are, and what opens the keys.
public struct StoreKeyOptions: Hashable, Sendable {
  /// The folder of the keys that publishing needs; nil for `<store>.keys` beside the store.
  public var folder: String?
  /// The folder of the root keys, which may be carried away; nil for `root` in `folder`.
  public var rootFolder: String?
  /// The folder of the publication record and of the publishers' lock; nil for the keys' folder.
  ///
  /// Needed if the keys' folder is read-only. Created if it does not exist; never inside the store.
  public var stateFolder: String?
  /// What encrypts the keys, at most 1023 bytes without a zero among them; nil for nothing.
  public var passphrase: [UInt8]?
  /// What encrypts the root keys: one passphrase for all, or one for each; none for `passphrase`.
  ///
  /// New root keys are encrypted with these in their order. To sign, the passphrases of the
  /// custodians who are present are enough, in any order.
  public var rootPassphrases: [[UInt8]]

  /// Creates options: folders beside the store, keys that are not encrypted.
  public init(
    folder: String? = nil, rootFolder: String? = nil, stateFolder: String? = nil,
    passphrase: [UInt8]? = nil, rootPassphrases: [[UInt8]] = []
  ) {
    self.folder = folder
    self.rootFolder = rootFolder
    self.stateFolder = stateFolder
    self.passphrase = passphrase
    self.rootPassphrases = rootPassphrases
  }

  /// Throws `usage` for a passphrase that libcrypto cannot take whole.
  func check() throws {
    for passphrase in [passphrase].compactMap({ $0 }) + rootPassphrases
    where !(1...1023).contains(passphrase.count) || passphrase.contains(0) {
      throw ContentError(
        .usage, "A passphrase is empty, longer than 1023 bytes, or has a zero byte",
        remedy: "Use another one")
    }
  }

  /// Throws `usage` unless `count` new root keys can be encrypted with the passphrases.
  func check(newRootKeys count: Int) throws {
    guard ![0, 1, count].contains(rootPassphrases.count) else { return }
    throw ContentError(
      .usage, "\(rootPassphrases.count) passphrases do not fit \(count) new root keys",
      remedy: "Give one passphrase for all root keys, or one for each")
  }
}

/// How many keys of which type roles get, and how many of them must sign.
public struct StoreKeyPlan: Hashable, Sendable {
  /// The type of new keys.
  public var type: StoreKeyType
  /// How many keys a role gets; nil for one, or for as many as it has.
  public var counts: [StoreRole: Int]
  /// How many of a role's keys must sign; nil for one, or for as many as now.
  public var thresholds: [StoreRole: Int]

  /// Creates a plan; what is left out is one Ed25519 key a role.
  public init(
    type: StoreKeyType = .ed25519, counts: [StoreRole: Int] = [:],
    thresholds: [StoreRole: Int] = [:]
  ) {
    self.type = type
    self.counts = counts
    self.thresholds = thresholds
  }

  /// How many keys `role` gets and how many must sign; `usage` when that cannot be.
  func numbers(of role: StoreRole, known: RoleKeys? = nil) throws -> (count: Int, threshold: Int) {
    let count = counts[role] ?? known?.identifiers.count ?? 1
    let threshold = thresholds[role] ?? known.map { Int(clamping: $0.threshold) } ?? 1
    guard (1...64).contains(count), (1...count).contains(threshold) else {
      throw ContentError(
        .usage, "\(threshold) of \(count) \(role.rawValue) keys cannot be demanded",
        remedy: "Use 1 to 64 keys, and a threshold of 1 to as many as there are",
        subject: role.rawValue)
    }
    return (count, threshold)
  }
}
