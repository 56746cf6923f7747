import Glibc

extension Directory {
  /// Removes the folder `name`, unless it has entries or does not exist.
  ///
  /// Returns whether it was removed. rmdir(2) only removes an empty folder, also if an entry is
  /// created at the same time.
  @discardableResult
  package func removeEmptyDirectory(_ name: String) throws -> Bool {
    guard try status(of: name)?.kind == .directory else { return false }
    return try fileSystem.perform(.remove, path(of: name), unless: [ENOENT, ENOTEMPTY, EEXIST]) {
      calls.unlinkat(descriptor, name, AT_REMOVEDIR)
    }
  }
}
