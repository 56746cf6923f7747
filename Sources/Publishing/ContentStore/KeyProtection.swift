import ContentModel
import FileIO

/// Folders and files with which others could publish, or make a publisher sign.
extension Directory {
  /// Takes the right to write this folder from other users; `keyUnusable` if this user cannot.
  func protect() throws {
    let permissions = try status().permissions
    guard permissions & Self.othersMayWrite != 0 else { return }
    try Self.refusing(path) { try setPermissions(permissions & ~Self.othersMayWrite) }
  }

  /// Takes the right to write the file `name` from other users; `keyUnusable` if this user cannot.
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
        remedy: "Let its owner take that right from them: chmod go-w \(path)", subject: path,
        cause: error.cause)
    }
  }
}
