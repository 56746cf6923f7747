import ContentModel
import Glibc

/// An open file; closed when its owner's scope ends.
///
/// Not copyable, so that one scope owns the descriptor. Offsets and lengths are bytes.
package struct File: ~Copyable, Sendable {
  /// The path as it was opened, for messages only.
  package let path: String
  private let descriptor: Int32
  private let fileSystem: FileSystem

  private var calls: any SystemCalls { fileSystem.calls }

  init(descriptor: Int32, path: String, fileSystem: FileSystem) {
    self.descriptor = descriptor
    self.path = path
    self.fileSystem = fileSystem
  }

  deinit { calls.close(descriptor) }

  /// What the file is now.
  package func status() throws -> FileStatus {
    var status = stat()
    try fileSystem.retrying(.status, path) { calls.fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// A second descriptor of the open file, for a C library that takes one and closes it.
  package func duplicatedDescriptor() throws -> Int32 {
    try fileSystem.check(.open, path)
    return try fileSystem.retrying(.open, path) { calls.dup(descriptor) }
  }

  // MARK: Reading

  /// Reads up to `buffer.count` bytes at `offset`; fewer only at the file's end.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    try fileSystem.check(.read, path)
    var filled = 0
    while filled < buffer.count {
      let count = try fileSystem.retrying(.read, path) {
        calls.pread(
          descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]),
          off_t(offset) + off_t(filled))
      }
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// All bytes; `limitExceeded` when there are more than `limit`.
  package func contents(limit: Int64) throws -> [UInt8] {
    let status = try status()
    guard status.kind == .file else {
      throw ContentError(
        .fileFailed, "\(path) is not a regular file", remedy: "Check the path", subject: path)
    }
    guard status.size <= limit else {
      throw ContentError(
        .limitExceeded, "\(path) has \(status.size) bytes, more than the \(limit) that are read",
        remedy: "Check that it is the right file", subject: path)
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.size))
    let count = try bytes.withUnsafeMutableBytes { try read(into: $0, at: 0) }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  // MARK: Writing

  /// Appends all of `bytes` at the file's position.
  package func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try write($0) }
  }

  /// Appends all of `buffer` at the file's position.
  package func write(_ buffer: UnsafeRawBufferPointer) throws {
    try fileSystem.check(.write, path)
    var written = 0
    while written < buffer.count {
      written += try fileSystem.retrying(.write, path) {
        calls.write(descriptor, UnsafeRawBufferPointer(rebasing: buffer[written...]))
      }
    }
  }

  /// Writes all of `buffer` at `offset`; the file's position stays.
  package func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws {
    try fileSystem.check(.write, path)
    var written = 0
    while written < buffer.count {
      written += try fileSystem.retrying(.write, path) {
        calls.pwrite(
          descriptor, UnsafeRawBufferPointer(rebasing: buffer[written...]),
          off_t(offset) + off_t(written))
      }
    }
  }

  /// Cuts or extends the file to `length` bytes.
  package func truncate(to length: Int64) throws {
    try fileSystem.check(.write, path)
    try fileSystem.retrying(.write, path) { calls.ftruncate(descriptor, off_t(length)) }
  }

  /// Sets the permission bits.
  package func setPermissions(_ mode: UInt32) throws {
    try fileSystem.retrying(.write, path) { calls.fchmod(descriptor, mode) }
  }

  /// Lets the disk begin with what was written, so that a later sync has less to wait for.
  ///
  /// Promises nothing, and does not wait unless the disk is behind.
  package func beginWritingBack() { calls.beginWritingBack(descriptor) }

  /// Makes the bytes durable.
  package func sync() throws {
    try fileSystem.check(.sync, path)
    try fileSystem.retrying(.sync, path) { calls.fdatasync(descriptor) }
  }

  // MARK: Locking

  /// Takes an exclusive lock for as long as the file is open; false when another holds one.
  package func tryLock() throws -> Bool {
    try fileSystem.check(.lock, path)
    while calls.lock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw ContentError(errno: errno, .lock, path) }
    }
    return true
  }

  /// Waits for an exclusive lock, held for as long as the file is open.
  package func lock() throws {
    try fileSystem.check(.lock, path)
    try fileSystem.retrying(.lock, path) { calls.lock(descriptor, LOCK_EX) }
  }
}
