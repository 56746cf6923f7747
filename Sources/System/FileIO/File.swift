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
    try fileSystem.perform(.status, path) { calls.fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// A second descriptor of the open file, for a C library that takes one and closes it.
  package func duplicatedDescriptor() throws -> Int32 {
    try fileSystem.perform(.open, path) { calls.dup(descriptor) }
  }

  /// Lets an empty file keep its disk blocks when it is written again.
  ///
  /// The result is ignored: only copy-on-write file systems need it.
  func avoidCopyOnWrite() throws {
    _ = try fileSystem.attempt(.write, path) { calls.avoidCopyOnWrite(descriptor) }
  }

  // MARK: Reading

  /// Reads up to `buffer.count` bytes at `offset`; fewer only at the file's end.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = try fileSystem.perform(.read, path) {
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

  /// Bytes that are not in holes; the file's length where the file system does not tell.
  package func dataLength() throws -> Int64 {
    let size = try status().size
    var (data, position) = (Int64(0), Int64(0))
    while position < size {
      let start = calls.seekData(descriptor, off_t(position))
      // ENXIO: a hole reaches to the end.
      guard start >= 0 else { return errno == ENXIO ? data : size }
      let end = calls.seekHole(descriptor, start)
      guard end > start else { return size }
      data += Int64(end - start)
      position = Int64(end)
    }
    return data
  }

  // MARK: Writing

  /// Appends all of `bytes` at the file's position.
  package func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try write($0) }
  }

  /// Appends all of `buffer` at the file's position.
  package func write(_ buffer: UnsafeRawBufferPointer) throws {
    var rest = buffer
    while !rest.isEmpty {
      let written = try writeOnce(rest.count) { calls.write(descriptor, rest) }
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
  }

  /// Writes all of `buffer` at `offset`; the file's position stays.
  package func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws {
    try write([buffer], at: offset)
  }

  /// Writes all of `buffers`, one behind the other, from `offset` on; the file's position stays.
  package func write(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws {
    let count = buffers.reduce(0) { $0 + $1.count }
    var rest = buffers[...]
    var written = 0
    while written < count {
      let more = try writeOnce(count - written) {
        calls.pwritev(descriptor, rest, off_t(offset) + off_t(written))
      }
      rest.drop(bytes: more)
      written += more
    }
  }

  /// Bytes that one call of `write` wrote, out of `count`.
  private func writeOnce(_ count: Int, _ write: () -> Int) throws -> Int {
    switch try fileSystem.attempt(.write, path, write) {
    case .success(let written): return written
    case .failure(let failure) where failure.number == ENOSPC: throw full(needing: count)
    case .failure(let failure): throw ContentError(errno: failure.number, .write, path)
    }
  }

  private func full(needing count: Int) -> ContentError {
    var status = statvfs()
    let free =
      calls.fstatvfs(descriptor, &status) == 0
      ? Int64(clamping: status.f_bavail) * Int64(clamping: status.f_frsize) : 0
    return ContentError(
      .diskFull, "Cannot write \(path): it needs \(count) bytes more, where \(free) are free",
      remedy: "Free space on that file system and start again", subject: path,
      cause: String(cString: strerror(ENOSPC)))
  }

  /// Cuts or extends the file to `length` bytes.
  package func truncate(to length: Int64) throws {
    try fileSystem.perform(.write, path) { calls.ftruncate(descriptor, off_t(length)) }
  }

  /// Takes the disk space for the first `length` bytes, so that writing them never fails for lack
  /// of it.
  package func allocate(_ length: Int64) throws {
    try fileSystem.perform(.write, path) { calls.allocate(descriptor, off_t(length)) }
  }

  /// Sets the permission bits.
  package func setPermissions(_ mode: UInt32) throws {
    try fileSystem.perform(.write, path) { calls.fchmod(descriptor, mode) }
  }

  /// Lets the disk begin with what was written, so that a later sync has less to wait for.
  ///
  /// Promises nothing, and does not wait unless the disk is behind.
  package func beginWritingBack() { calls.beginWritingBack(descriptor) }

  /// Makes the bytes durable.
  package func sync() throws {
    try fileSystem.perform(.sync, path) { calls.fdatasync(descriptor) }
  }

  // MARK: Locking

  /// Takes an exclusive lock, until `unlock` or the file's end; false when another holds one.
  package func tryLock() throws -> Bool {
    try fileSystem.perform(.lock, path, unless: [EWOULDBLOCK]) {
      calls.lock(descriptor, LOCK_EX | LOCK_NB)
    }
  }

  /// Waits for an exclusive lock, held until `unlock` or the file's end.
  package func lock() throws {
    try fileSystem.perform(.lock, path) { calls.lock(descriptor, LOCK_EX) }
  }

  /// Lets go of the lock, also where another process was just being started.
  ///
  /// A child has the file until it runs its own program, and with it the lock if this is only
  /// closed.
  package func unlock() { _ = calls.lock(descriptor, LOCK_UN) }
}

extension ArraySlice<UnsafeRawBufferPointer> {
  /// Takes away so many bytes at the beginning, and empty buffers there.
  fileprivate mutating func drop(bytes: Int) {
    var bytes = bytes
    while let first, first.count <= bytes {
      bytes -= first.count
      removeFirst()
    }
    if bytes > 0, let first {
      self[startIndex] = UnsafeRawBufferPointer(rebasing: first[bytes...])
    }
  }
}
