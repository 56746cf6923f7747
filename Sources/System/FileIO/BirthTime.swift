extension Directory {
  /// Returns when `name` was created, in nanoseconds since 1970, or 0 if this is not recorded.
  ///
  /// Identifies a file together with its inode, which a new file often takes from a removed one.
  package func birthTime(of name: String) throws -> Int64 {
    try fileSystem.perform(.status, path(of: name)) { calls.birthTime(descriptor, name) }
  }
}
