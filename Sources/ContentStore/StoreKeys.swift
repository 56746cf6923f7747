import ContentModel
import ContentTrust
import FileIO

/// The folder of a store's signing keys, beside the store and never inside what is served.
struct StoreKeys {
  private let folder: Directory

  /// Opens the folder.
  init(_ folder: Directory) { self.folder = folder }

  /// Does `body` while no other process or thread writes the store; `storeLocked` when one does.
  func whileLocked<Value>(_ body: () throws -> Value) throws -> Value {
    let lock = try folder.updatedFile("lock", mode: 0o600)
    guard try lock.tryLock() else {
      throw ContentError(
        .storeLocked, "Another process is publishing to the store of \(folder.path)",
        remedy: "Wait until it is done and start again", subject: folder.path)
    }
    // The lock is held by the open file, which must not be closed before `body` returns.
    defer { withExtendedLifetime(lock) {} }
    return try body()
  }

  /// The key of `role`; `keyUnusable` when it is missing or no key.
  func key(_ role: RoleName) throws -> SigningKey {
    do {
      return try SigningKey(pem: folder.contents(of: Self.fileName(role), limit: 64 << 10))
    } catch let error as ContentError
      where [.fileMissing, .keyUnusable, .limitExceeded].contains(error.code)
    {
      throw ContentError(
        .keyUnusable,
        "The \(role.rawValue) key \(folder.path(of: Self.fileName(role))) cannot be used",
        remedy: "Put the key file that store init has made back in its place",
        subject: folder.path(of: Self.fileName(role)), cause: error.cause ?? error.message)
    }
  }

  /// The key of `role`, made durably when there is none.
  func keyOrNew(_ role: RoleName) throws -> SigningKey {
    if try folder.status(of: Self.fileName(role)) != nil { return try key(role) }
    let key = try SigningKey.generate()
    try folder.replaceFile(Self.fileName(role), with: key.pem, mode: 0o600)
    return key
  }

  /// A signer for `role`; `keyUnusable` when `root` does not name the key.
  func signer(_ role: RoleName, of root: RootRole) throws -> RoleSigner {
    let key = try key(role)
    guard root.publicKeys(of: role).contains(key.publicKey) else {
      throw ContentError(
        .keyUnusable,
        "The \(role.rawValue) key \(folder.path(of: Self.fileName(role))) is not the one that "
          + "root version \(root.version) names",
        remedy: "Put the key file that belongs to this store in its place",
        subject: folder.path(of: Self.fileName(role)))
    }
    return RoleSigner(keys: [key])
  }

  private static func fileName(_ role: RoleName) -> String { "\(role.rawValue).pem" }
}
