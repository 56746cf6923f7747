import ContentModel

extension Directory {
  /// Creates a folder that only this user can open, and removes it after `body`.
  ///
  /// Its name is `prefix`, `-` and a random number. It remains if the process is killed, or if it
  /// cannot be removed.
  package func withTemporaryDirectory<Value>(
    _ prefix: String, _ body: (Directory) throws -> Value
  ) throws -> Value {
    let name = "\(prefix)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    // Outside of `do`, so that the cleanup only removes a folder that this call has created.
    let folder = try createDirectory(name, mode: 0o700, exclusive: true)
    defer { try? removeTree(name) }
    return try body(folder)
  }
}
