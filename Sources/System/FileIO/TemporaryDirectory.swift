import Glibc

extension Directory {
  /// Creates a folder, by default one that only this user can open, and removes it after `body`.
  ///
  /// Its name is `prefix`, `-` and a random number. It remains if the process is killed, if it
  /// cannot be removed, or if `body` renames it.
  package func withTemporaryDirectory<Value>(
    _ prefix: String, mode: UInt32 = 0o700, _ body: (Directory) throws -> Value
  ) throws -> Value {
    let name = "\(prefix)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    // Before `defer`, so that the cleanup only removes a folder that this call has created.
    let folder = try createDirectory(name, mode: mode, exclusive: true)
    defer { try? removeTree(name) }
    return try body(folder)
  }
}

extension FileSystem {
  /// Creates a folder among the temporary files of the system, and removes it after `body`.
  ///
  /// They are in the folder `TMPDIR`, which this user must be able to list, or in `/tmp`.
  package func withTemporaryDirectory<Value>(_ body: (Directory) throws -> Value) throws -> Value {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    return try directory(at: parent).withTemporaryDirectory("hostedcontent", body)
  }
}
