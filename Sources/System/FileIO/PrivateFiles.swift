import HostedModel
import Glibc

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

  /// Creates an empty file that other code will map into memory and write, unless it exists.
  ///
  /// With copy-on-write, writing a mapped page can need a new disk block. On a full disk the system
  /// then ends the process with SIGBUS, since a memory access cannot return an error. So the file
  /// keeps its blocks. Errors are ignored, because the code that maps the file also creates it.
  package func createMappedFile(_ name: String) throws {
    let created = try fileSystem.attempt(.create, path(of: name)) {
      calls.openat(descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    }
    guard case .success(let opened) = created else { return }
    try File(descriptor: opened, path: path(of: name), fileSystem: fileSystem).avoidCopyOnWrite()
  }

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
