import ContentModel
import ContentTrust
import FileIO
import Glibc

/// The folders of a store's signing keys, beside the store and never inside what is served.
///
/// A key's file is named after its role; which of them count is what the root metadata says, so
/// keys of an earlier root, or of a rotation that did not come to its end, do no harm.
struct StoreKeys {
  let folder: Directory
  /// Nil when it was carried away.
  private let rootFolder: Directory?
  private let rootPath: String
  private let passphrase: [UInt8]?
  /// One for all root keys, or one for each.
  private let rootPassphrases: [[UInt8]?]

  /// The root keys' folder, unless it is said where it is.
  static let rootName = "root"
  private static let suffix = ".pem"
  private static let maximumLength: Int64 = 64 << 10

  /// Opens the folders; `creating` makes the one of the root keys.
  init(_ folder: Directory, _ options: StoreKeyOptions, creating: Bool) throws {
    self.folder = folder
    passphrase = options.passphrase
    rootPassphrases =
      options.rootPassphrases.isEmpty ? [options.passphrase] : options.rootPassphrases
    rootPath = options.rootFolder ?? folder.path(of: Self.rootName)
    if let path = options.rootFolder {
      rootFolder = try Self.opened(path, creating: creating, folder.fileSystem)
    } else if creating {
      rootFolder = try folder.createDirectory(Self.rootName, mode: 0o700)
    } else {
      rootFolder =
        try folder.status(of: Self.rootName) == nil ? nil : folder.directory(Self.rootName)
    }
    for folder in [folder, rootFolder].compactMap({ $0 }) { try folder.protect() }
    if creating { try folder.sync() }
  }

  /// Opens the folder at `path`, 0700 when it is made here; nil when it is not there.
  static func opened(_ path: String, creating: Bool, _ fileSystem: FileSystem) throws -> Directory?
  {
    if creating {
      let place = try FolderPlace(path)
      let parent = try fileSystem.directory(at: place.parent, creating: true)
      let folder = try parent.createDirectory(place.name, mode: 0o700)
      try parent.sync()
      return folder
    }
    do {
      return try fileSystem.directory(at: path)
    } catch let error as ContentError where error.code == .fileMissing {
      return nil
    }
  }

  // MARK: Reading

  /// A signer for `role` with every key here that `root` names.
  ///
  /// Throws `keyUnusable` when these are fewer than `root` demands.
  func signer(_ role: RoleName, of root: RootRole) throws -> RoleSigner {
    RoleSigner(keys: try keys(of: role, in: root).map(\.key))
  }

  /// Whether enough root keys are here to sign what follows `root`.
  func canSignRoot(_ root: RootRole) -> Bool { (try? keys(of: .root, in: root)) != nil }

  /// Every key of `role` that is here and opens, whether or not a root names it.
  func publicKeys(of role: RoleName) throws -> Set<PublicKey> {
    var found: Set<PublicKey> = []
    for folder in folders(of: role) {
      for name in try Self.fileNames(of: role, in: folder) {
        if let key = try? read(name, role, in: folder) { found.insert(key.publicKey) }
      }
    }
    return found
  }

  private struct KeyFile {
    let folder: Directory
    let name: String
    let key: SigningKey
  }

  private func keys(of role: RoleName, in root: RootRole) throws -> [KeyFile] {
    let wanted = root.publicKeys(of: role)
    let demanded = root.roles[role]?.threshold ?? 1
    var found: [KeyFile] = []
    var refusal: ContentError?
    for folder in folders(of: role) {
      for name in try Self.fileNames(of: role, in: folder) {
        try folder.protect(name)
        do {
          let key = try read(name, role, in: folder)
          let isKnown = found.contains { $0.key.publicKey == key.publicKey }
          if wanted.contains(key.publicKey), !isKnown {
            found.append(KeyFile(folder: folder, name: name, key: key))
          }
        } catch let error as ContentError where !Self.isOfSystem(error) {
          refusal = refusal ?? error.naming(folder.path(of: name))
        }
      }
    }
    guard Int64(found.count) < demanded else { return found }
    throw try missing(role, found.count, demanded, root, refusal)
  }

  /// Whether reading failed for a reason that has nothing to do with the key.
  private static func isOfSystem(_ error: ContentError) -> Bool {
    [.fileFailed, .diskFull, .tooManyFiles].contains(error.code)
  }

  /// Where keys of `role` may lie; root keys were once kept with the others.
  private func folders(of role: RoleName) -> [Directory] {
    role == .root ? [rootFolder, folder].compactMap { $0 } : [folder]
  }

  private static func fileNames(of role: RoleName, in folder: Directory) throws -> [String] {
    try folder.entries().map(\.name).filter { isFileName($0, of: role) }.sorted()
  }

  private static func isFileName(_ name: String, of role: RoleName) -> Bool {
    name.hasSuffix(suffix)
      && (name == "\(role.rawValue)\(suffix)" || name.hasPrefix("\(role.rawValue)-"))
  }

  /// Files that look like keys, but are not read because they are not named after a role.
  private func ignoredNames(of role: RoleName) throws -> [String] {
    try folders(of: role).flatMap { try $0.entries().map(\.name) }.filter { name in
      name.hasSuffix(Self.suffix) && !RoleName.allCases.contains { Self.isFileName(name, of: $0) }
    }.sorted()
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
    let ignored = try ignoredNames(of: role).map { "“\($0)”" }.joined(separator: ", ")
    return ContentError(
      .keyUnusable,
      "\(path) has \(found) usable \(role.rawValue) keys of the \(demanded) that root version "
        + "\(root.version) demands" + (ignored.isEmpty ? "" : "; \(ignored) ignored"),
      remedy: (role == .root
        ? "Bring the folder with the root keys, and their passphrases if any"
        : "Put the store's own key files back, and give their passphrase if any")
        + ". The files must be named \(role.rawValue).pem or \(role.rawValue)-*.pem",
      subject: path, cause: refusal.map { [$0.message, $0.cause ?? ""].joined(separator: " ") })
  }

  // MARK: Writing

  /// Makes `count` keys of `role`, durably.
  ///
  /// `version` is that of the root which will name them, and part of their names after the first.
  /// The first root takes keys that lie there already; a rotation never does, since a thief may
  /// have seen what an interrupted one has left.
  func make(_ role: RoleName, _ count: Int, _ kind: KeyKind, forRoot version: Int64) throws
    -> [SigningKey]
  {
    guard let folder = role == .root ? rootFolder : folder else {
      throw ContentError(
        .keyUnusable, "There is no folder \(rootPath) for root keys",
        remedy: "Bring the folder with the root keys", subject: rootPath)
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
      try folder.replaceFile(name, with: key.pem(passphrase: passphrase), mode: 0o600)
      return key
    }
  }

  /// Removes the files of `role` whose keys `old` named and `new` does not, and those that
  /// rotations have made which came to no end.
  func remove(_ role: RoleName, of old: RootRole, notIn new: RootRole) throws {
    let kept = new.publicKeys(of: role)
    let dropped = old.publicKeys(of: role).subtracting(kept)
    for folder in folders(of: role) {
      for name in try Self.fileNames(of: role, in: folder) {
        guard let key = try? read(name, role, in: folder), !kept.contains(key.publicKey) else {
          continue
        }
        // Others may be an owner's own, such as a copy of another store's key.
        if dropped.contains(key.publicKey) || name.hasPrefix("\(role.rawValue)-v") {
          try folder.removeFile(name)
        }
      }
      try folder.sync()
    }
  }
}

/// A folder's path in two: the folder above it, and its name.
struct FolderPlace {
  let parent: String
  let name: String

  /// Whether something is at `path`.
  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Throws `usage` for a path without a name at its end, such as `/`.
  init(_ path: String) throws {
    var components = path.pathComponents()
    var isAbsolute = path.hasPrefix("/")
    if [".", ".."].contains(components.last), let resolved = realpath(path, nil) {
      defer { free(resolved) }
      components = String(cString: resolved).pathComponents()
      isAbsolute = true
    }
    guard let name = components.popLast(), name != ".", name != ".." else {
      throw ContentError(
        .usage, "“\(path)” does not name a folder",
        remedy: "Give a path that ends in the folder's name", subject: path)
    }
    let prefix = isAbsolute ? "/" : components.isEmpty ? "." : ""
    parent = prefix + components.joined(separator: "/")
    self.name = name
  }
}

/// A path without links, also of a file that is not there yet.
struct RealPath {
  private let components: [String]

  static func of(_ path: String) -> RealPath {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return RealPath(components: String(cString: resolved).pathComponents())
    }
    var rest = path.pathComponents()
    guard let last = rest.popLast() else { return RealPath(components: []) }
    let parent = (path.hasPrefix("/") ? "/" : rest.isEmpty ? "." : "") + rest.joined(separator: "/")
    return RealPath(components: of(parent).components + [last])
  }

  /// Whether this is `folder` or something in it.
  func isInside(_ folder: RealPath) -> Bool { components.starts(with: folder.components) }
}
