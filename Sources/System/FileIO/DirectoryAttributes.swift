import Glibc

/// The attributes of an open folder and the space of its file system.
extension Directory {
  /// Sets the access time to now, or does nothing without permission.
  package func touch() {
    _ = try? fileSystem.attempt(.write, path) { calls.touch(descriptor) }
  }

  package func setPermissions(_ permissions: UInt32) throws {
    try fileSystem.perform(.write, path) { calls.fchmod(descriptor, permissions) }
  }

  /// Sets the modification time of this folder, in seconds since 1970.
  package func setModified(_ time: Double) throws {
    try fileSystem.perform(.write, path) { calls.setModified(descriptor, timespec(time)) }
  }

  /// Returns the status of this open folder, even if it was renamed.
  package func status() throws -> FileStatus {
    var status = stat()
    try fileSystem.perform(.status, path) { calls.fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// Returns when `name` was created, in nanoseconds since 1970, or 0 if this is not recorded.
  ///
  /// Identifies a file together with its inode, which a new file often takes from a removed one.
  package func birthTime(of name: String) throws -> Int64 {
    try fileSystem.perform(.status, path(of: name)) { calls.birthTime(descriptor, name) }
  }

  /// Sets the extended attribute `name`, or does nothing if that fails, such as without support.
  package func setAttribute(_ name: String, to text: String) {
    _ = try? fileSystem.attempt(.write, path) { calls.fsetxattr(descriptor, name, text) }
  }

  /// Returns the bytes that this user may still write to this folder's file system.
  package func availableBytes() throws -> Int64 { try space().available }

  /// Returns the bytes that this user may still write, and the length of a block in bytes.
  package func space() throws -> (available: Int64, blockLength: Int64) {
    var status = statvfs()
    try fileSystem.perform(.status, path) { calls.fstatvfs(descriptor, &status) }
    return (status.availableBytes, status.blockLength)
  }
}

extension statvfs {
  /// The length of a block in bytes.
  var blockLength: Int64 { max(1, Int64(clamping: f_frsize)) }

  /// The bytes that this user may still write; some network file systems report the maximum.
  var availableBytes: Int64 {
    let (bytes, overflow) = Int64(clamping: f_bavail).multipliedReportingOverflow(by: blockLength)
    return overflow ? .max : bytes
  }
}
