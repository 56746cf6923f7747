import ContentModel

extension Directory {
  /// Makes a folder in here that only this user can open, and removes it with all in it after
  /// `body`.
  ///
  /// Its name is `prefix`, `-` and a random number. A process that is killed leaves it.
  package func withTemporaryDirectory<Value>(
    _ prefix: String, _ body: (Directory) throws -> Value
  ) throws -> Value {
    let name = "\(prefix)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    // Outside of `do`: only a folder that this call has created is removed.
    let folder = try createDirectory(name, mode: 0o700, exclusive: true)
    let value: Value
    do {
      value = try body(folder)
    } catch {
      // The first failure is the one to report.
      try? removeTree(name)
      throw error
    }
    try removeTree(name)
    return value
  }
}
