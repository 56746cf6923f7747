import Glibc
import HostedFileIO
import HostedModel
import HostedTrust

/// The folders of a store's signing keys.
///
/// They are never inside the served folder. A key's file is named after its role. The root metadata
/// determines which keys count, so keys of an earlier root, or of an interrupted rotation, do no
/// harm.
struct StoreKeys {
  let folder: Directory
  /// Nil if it is not available.
  private let rootFolder: Directory?
  private let rootPath: String
  private let passphrase: [UInt8]?
  /// One for all root keys, or one for each.
  private let rootPassphrases: [[UInt8]?]
  /// Collects changes of the keys and of what they sign; nil if these are really written.
  let rehearsal: RehearsalRecorder?

  /// The default name of the root keys' folder.
  static let rootName = "root"
  private static let suffix = ".pem"
  private static let maximumLength: Int64 = 64 << 10

  /// Opens the folders.
  ///
  /// Creates the root keys' folder if `creating`. Without `protecting`, permissions do not change,
  /// which is enough for a reader.
  init(
    _ folder: Directory, _ options: StoreKeyOptions, creating: Bool, protecting: Bool = true,
    rehearsal: RehearsalRecorder? = nil
  ) throws {
    self.folder = folder
    self.rehearsal = rehearsal
    passphrase = options.passphrase
    rootPassphrases =
      options.rootPassphrases.isEmpty ? [options.passphrase] : options.rootPassphrases
    rootPath = options.rootFolderPath ?? folder.path(of: Self.rootName)
    if let path = options.rootFolderPath {
      rootFolder =
        try creating
        ? Self.created(path, folder.fileSystem) : Self.opened(path, folder.fileSystem)
    } else {
      rootFolder = try Self.opened(Self.rootName, in: folder, creating: creating)
    }
    for folder in [folder, rootFolder].compactMap({ $0 }) where protecting { try folder.protect() }
    if creating { try folder.sync() }
  }

  /// Opens the folder at `path`; nil if it does not exist.
  static func opened(_ path: String, _ fileSystem: FileSystem) throws -> Directory? {
    try nilIf(.fileMissing) { try fileSystem.directory(at: path) }
  }

  /// Opens the folder at `path`, or creates it with mode 0700.
  static func created(_ path: String, _ fileSystem: FileSystem) throws -> Directory {
    let place = try FolderPlace(path)
    let parent = try fileSystem.directory(at: place.parent, creating: true)
    let folder = try parent.createDirectory(place.name, mode: 0o700)
    try parent.sync()
    return folder
  }

  /// Opens the folder `name` of `parent`, or creates it with mode 0700; nil if it does not exist.
  static func opened(_ name: String, in parent: Directory, creating: Bool) throws -> Directory? {
    if creating { return try parent.createDirectory(name, mode: 0o700) }
    return try parent.status(of: name) == nil ? nil : parent.directory(name)
  }

  // MARK: Reading

  /// Whether there are enough root keys to sign the root after `root`.
  ///
  /// Throws errors of the system, such as too many open files, because the keys may be there.
  func canSignRoot(_ root: RootRole) throws -> Bool {
    try nilIf(.keyUnusable, .passphraseWrong, .notPermitted) { try keys(of: .root, in: root) }
      != nil
  }

  /// All usable keys of `role` in the folders, even if no root names them, and the number of key
  /// files that cannot be read, such as encrypted ones.
  func inventory(of role: RoleName) throws -> (usable: Set<PublicKey>, unreadable: Int) {
    var usable: Set<PublicKey> = []
    var unreadable = 0
    for (folder, name) in try files(of: role) {
      do {
        usable.insert(try read(name, role, in: folder).publicKey)
      } catch is ContentError {
        unreadable += 1
      }
    }
    return (usable, unreadable)
  }

  /// The available keys that `root` names; throws `keyUnusable` if there are too few.
  func keys(of role: RoleName, in root: RootRole) throws -> [SigningKey] {
    let wanted = root.publicKeys(of: role)
    let demanded = root.roles[role]?.threshold ?? 1
    var found: [SigningKey] = []
    var refusal: ContentError?
    for (folder, name) in try files(of: role) {
      try folder.protect(name)
      do {
        let key = try read(name, role, in: folder)
        let isKnown = found.contains { $0.publicKey == key.publicKey }
        if wanted.contains(key.publicKey), !isKnown { found.append(key) }
      } catch let error as ContentError
        where ![.fileFailed, .diskFull, .tooManyFiles, .outOfMemory].contains(error.code)
      {
        // Not a failure of the system, so it concerns the key.
        refusal = refusal ?? error.naming(folder.path(of: name))
      }
    }
    found += (rehearsal?.keys(of: role) ?? []).filter { wanted.contains($0.publicKey) }
    guard Int64(found.count) < demanded else { return found }
    throw try missing(role, found.count, demanded, root, refusal)
  }

  /// The folders with keys of `role`; earlier versions stored root keys with the others.
  private func folders(of role: RoleName) -> [Directory] {
    role == .root ? [rootFolder, folder].compactMap { $0 } : [folder]
  }

  private func files(of role: RoleName) throws -> [(folder: Directory, name: String)] {
    try folders(of: role).flatMap { folder in
      try folder.entries().map(\.name).filter { Self.isFileName($0, of: role) }.sorted().map {
        (folder: folder, name: $0)
      }
    }
  }

  private static func isFileName(_ name: String, of role: RoleName) -> Bool {
    name.hasSuffix(suffix)
      && (name == "\(role.rawValue)\(suffix)" || name.hasPrefix("\(role.rawValue)-"))
  }

  /// Whether `name` is a file name of `make` for a later root, such as `root-v2-1.pem`.
  private static func isOfRotation(_ name: String, _ role: RoleName) -> Bool {
    let prefix = "\(role.rawValue)-v"
    let numbers = name.dropFirst(prefix.count).dropLast(suffix.count)
    return name.hasPrefix(prefix)
      && numbers.split(separator: "-", omittingEmptySubsequences: false).allSatisfy {
        !$0.isEmpty && $0.utf8.allSatisfy(\.isDigit)
      }
  }

  private func read(_ name: String, _ role: RoleName, in folder: Directory) throws -> SigningKey {
    let bytes = try folder.contents(of: name, limit: Self.maximumLength)
    guard role == .root else { return try SigningKey(pem: bytes, passphrase: passphrase) }
    for passphrase in rootPassphrases.dropLast() {
      if let key = try? SigningKey(pem: bytes, passphrase: passphrase) { return key }
    }
    return try SigningKey(pem: bytes, passphrase: rootPassphrases.last ?? nil)
  }

  private func missing(
    _ role: RoleName, _ found: Int, _ demanded: Int64, _ root: RootRole, _ refusal: ContentError?
  ) throws -> ContentError {
    let path = role == .root ? rootPath : folder.path
    if let refusal, refusal.code == .passphraseWrong, found == 0 { return refusal.about(path) }
    // Files that look like keys, but whose names do not begin with a role.
    let ignored = try folders(of: role).flatMap { try $0.entries().map(\.name) }.filter { name in
      name.hasSuffix(Self.suffix) && !RoleName.allCases.contains { Self.isFileName(name, of: $0) }
    }.sorted().map { "“\($0)”" }.joined(separator: ", ")
    return ContentError(
      .keyUnusable,
      "\(path) has \(found) of the \(demanded) usable \(role.rawValue) keys that root version "
        + "\(root.version) requires" + (ignored.isEmpty ? "" : "; \(ignored) ignored"),
      remedy: (role == .root
        ? "Provide the folder with the root keys, and their passphrases if they are encrypted"
        : "Restore the store's own key files, and provide their passphrase if they are encrypted")
        + ". The files must be named \(role.rawValue).pem or \(role.rawValue)-*.pem",
      subject: path, cause: refusal.map { [$0.message, $0.cause ?? ""].joined(separator: " ") })
  }

  // MARK: Writing

  /// Creates `count` keys of `role`.
  ///
  /// They are durable. `version` is the version of the root that will list them. It is part of
  /// their file names, except for the first root. The first root uses existing keys in the folder.
  /// A rotation never does, because an attacker may have seen the keys of an interrupted rotation.
  func make(_ role: RoleName, _ count: Int, _ kind: KeyKind, forRoot version: Int64) throws
    -> [SigningKey]
  {
    guard let folder = role == .root ? rootFolder : folder else {
      throw ContentError(
        .keyUnusable, "Root keys folder \(rootPath) not found",
        remedy: "Provide the folder with the root keys", subject: rootPath)
    }
    return try (1...count).map { number in
      let stem = version == 1 ? role.rawValue : "\(role.rawValue)-v\(version)"
      let name = "\(stem)\(count == 1 ? "" : "-\(number)")\(Self.suffix)"
      if version == 1, try folder.status(of: name) != nil {
        return try read(name, role, in: folder)
      }
      let passphrase =
        role == .root ? rootPassphrases[min(number, rootPassphrases.count) - 1] : passphrase
      let key = try SigningKey.generate(kind)
      let pem = try key.pem(passphrase: passphrase)
      if let rehearsal {
        try rehearsal.write(.key, name, of: folder, bytes: Int64(pem.count))
        rehearsal.add(key, of: role)
      } else {
        try folder.replaceFile(name, with: pem, mode: 0o600)
      }
      return key
    }
  }

  /// Removes the files of `role` with keys that `old` lists and `new` does not, and the files of
  /// interrupted rotations.
  func remove(_ role: RoleName, of old: RootRole, notIn new: RootRole) throws {
    let kept = new.publicKeys(of: role)
    let dropped = old.publicKeys(of: role).subtracting(kept)
    for (folder, name) in try files(of: role) {
      guard let key = try? read(name, role, in: folder), !kept.contains(key.publicKey) else {
        continue
      }
      // Other files may belong to the owner, such as a copy of another store's key.
      if dropped.contains(key.publicKey) || Self.isOfRotation(name, role) {
        if let rehearsal {
          try rehearsal.remove(.key, name, in: folder)
        } else {
          try folder.removeFile(name)
        }
      }
    }
    if rehearsal == nil { for folder in folders(of: role) { try folder.sync() } }
  }
}

/// Protects folders and files that others could use to publish, or to make a publisher sign.
extension Directory {
  /// Removes other users' write permission for this folder; throws `keyUnusable` if that fails.
  func protect() throws {
    let status = try status()
    guard status.permissions & Self.othersMayWrite != 0 else { return }
    try Self.refusing(path) {
      guard !fileSystem.isReadOnly else { return try status.checkMayProtect(path) }
      try setPermissions(status.permissions & ~Self.othersMayWrite)
    }
  }

  /// Removes other users' write permission for the file `name`; throws `keyUnusable` if that fails.
  func protect(_ name: String) throws {
    try Self.refusing(path(of: name)) {
      guard fileSystem.isReadOnly else { return try withdraw(Self.othersMayWrite, from: name) }
      guard let status = try status(of: name), status.permissions & Self.othersMayWrite != 0
      else { return }
      try status.checkMayProtect(path(of: name))
    }
  }

  private static let othersMayWrite: UInt32 = 0o022

  private static func refusing(_ path: String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as ContentError where error.code == .notPermitted {
      throw ContentError(
        .keyUnusable, "Other users can write \(path)",
        remedy: "Its owner removes this permission: chmod go-w \(path)", subject: path,
        cause: error.cause)
    }
  }
}

extension FileStatus {
  /// Throws the error of changing the permissions of the file at `path`, unless this user may.
  fileprivate func checkMayProtect(_ path: String) throws {
    guard ![0, owner].contains(geteuid()) else { return }
    throw ContentError(errno: EPERM, .write, path)
  }
}
