import ContentModel
import FileIO

/// Protects folders and files that others could use to publish, or to make a publisher sign.
extension Directory {
  /// Removes other users' write permission for this folder.
  ///
  /// Throws `keyUnusable` if that fails.
  func protect() throws {
    let permissions = try status().permissions
    guard permissions & Self.othersMayWrite != 0 else { return }
    try Self.refusing(path) { try setPermissions(permissions & ~Self.othersMayWrite) }
  }

  /// Removes other users' write permission for the file `name`.
  ///
  /// Throws `keyUnusable` if that fails.
  func protect(_ name: String) throws {
    try Self.refusing(path(of: name)) { try withdraw(Self.othersMayWrite, from: name) }
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
