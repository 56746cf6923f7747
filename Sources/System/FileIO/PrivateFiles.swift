import ContentModel

/// Files that only their owner may read, write and lock.
extension Directory {
  /// Opens a file like `updatedFile`, and removes all permissions of other users.
  package func privateFile(_ name: String) throws -> File {
    let file = try updatedFile(name, mode: 0o600)
    let permissions = try file.status().permissions
    if permissions & 0o077 != 0 { try file.setPermissions(permissions & 0o700) }
    return file
  }

  /// Removes the permissions of other users from the file `name`, if it exists.
  ///
  /// Does not open the file, because closing it would release all fcntl(2) locks of this process on
  /// it, such as SQLite's.
  package func makePrivate(_ name: String) throws { try withdraw(0o077, from: name) }

  /// Removes `rights` from the file `name`, if it exists and has any of them.
  ///
  /// Does not open the file, for the reason in `makePrivate`.
  package func withdraw(_ rights: UInt32, from name: String) throws {
    guard let status = try status(of: name) else { return }
    guard status.kind == .file else {
      throw ContentError(
        .fileFailed, "\(path(of: name)) is not a regular file", remedy: "Move or remove it",
        subject: path(of: name))
    }
    guard status.permissions & rights != 0 else { return }
    try fileSystem.perform(.write, path(of: name)) {
      calls.fchmodat(descriptor, name, status.permissions & 0o777 & ~rights)
    }
  }
}
