import HostedModel
import HostedFileIO
import Glibc

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
