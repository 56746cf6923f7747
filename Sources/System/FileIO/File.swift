import Glibc
package import HostedModel

/// An open file, which is closed at the end of its owner's scope.
///
/// Not copyable, so that one scope owns the descriptor. Offsets and lengths are in bytes.
package struct File: ~Copyable, Sendable {
  /// The path that was opened, for messages only.
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

  package func status() throws -> FileStatus {
    var status = stat()
    try fileSystem.perform(.status, path) { calls.fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// Duplicates the descriptor for a C library that closes it.
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

  /// Reads up to `buffer.count` bytes at `offset`; reads fewer only at the end of the file.
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

  /// Returns all bytes; throws `limitExceeded` if there are more than `limit`.
  package func contents(limit: Int64) throws -> [UInt8] {
    let status = try status()
    guard status.kind == .file else {
      throw ContentError(
        .fileFailed, "\(path) is not a regular file", remedy: "Check the path", subject: path)
    }
    guard status.size <= limit else {
      throw ContentError(
        .limitExceeded, "\(path) has \(status.size) bytes; the limit is \(limit)",
        remedy: "Check that this is the correct file", subject: path)
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.size))
    let count = try bytes.withUnsafeMutableBytes { try read(into: $0, at: 0) }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// Returns the bytes outside of holes, or the length if the file system does not report holes.
  package func dataLength() throws -> Int64 {
    let size = try status().size
    var (data, position) = (Int64(0), Int64(0))
    while position < size {
      let start = calls.seekData(descriptor, off_t(position))
      // ENXIO: the rest is a hole.
      guard start >= 0 else { return errno == ENXIO ? data : size }
      let end = calls.seekHole(descriptor, start)
      guard end > start else { return size }
      data += Int64(end - start)
      position = Int64(end)
    }
    return data
  }

  // MARK: Writing

  /// Writes all of `bytes` at the current position.
  package func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

  /// Writes all of `buffer` at the current position.
  package func write(_ buffer: UnsafeRawBufferPointer) throws {
    var rest = buffer
    while !rest.isEmpty {
      let written = try writeOnce(rest.count) { calls.write(descriptor, rest) }
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
  }

  /// Writes all of `buffer` at `offset`, without changing the position.
  package func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws {
    try write([buffer], at: offset)
  }

  /// Writes all of `buffers` in order, from `offset`, without changing the position.
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

  /// Returns the bytes that one call of `write` wrote, out of `count`.
  private func writeOnce(_ count: Int, _ write: () -> Int) throws -> Int {
    switch try fileSystem.attempt(.write, path, write) {
    case .success(let written): return written
    case .failure(let failure) where failure.number == ENOSPC: throw full(needing: count)
    case .failure(let failure): throw ContentError(errno: failure.number, .write, path)
    }
  }

  private func full(needing count: Int) -> ContentError {
    var status = statvfs()
    let free = calls.fstatvfs(descriptor, &status) == 0 ? status.availableBytes : 0
    return ContentError(
      .diskFull, "Cannot write \(path): it needs \(count) bytes more, where \(free) are free",
      remedy: "Free space on that file system and try again", subject: path,
      cause: String(cString: strerror(ENOSPC)))
  }

  /// Truncates or extends the file to `length` bytes.
  package func truncate(to length: Int64) throws {
    try fileSystem.perform(.write, path) { calls.ftruncate(descriptor, off_t(length)) }
  }

  /// Allocates disk space for the first `length` bytes, so that writing them needs no more space.
  package func allocate(_ length: Int64) throws {
    try fileSystem.perform(.write, path) { calls.allocate(descriptor, off_t(length)) }
  }

  package func setPermissions(_ mode: UInt32) throws {
    try fileSystem.perform(.write, path) { calls.fchmod(descriptor, mode) }
  }

  /// Sets the modification time, in seconds since 1970; only the file's owner may.
  package func setModified(_ time: Double) throws {
    try fileSystem.perform(.write, path) { calls.setModified(descriptor, timespec(time)) }
  }

  /// Starts writing cached data to disk, so that a later sync takes less time.
  ///
  /// Guarantees nothing, and only waits if the disk falls behind.
  package func beginWritingBack() { calls.beginWritingBack(descriptor) }

  package func sync() throws { try fileSystem.perform(.sync, path) { calls.fdatasync(descriptor) } }

  // MARK: Locking

  /// Takes an exclusive lock until `unlock` or close; returns false if another one has it.
  package func tryLock() throws -> Bool {
    try fileSystem.perform(.lock, path, unless: [EWOULDBLOCK]) {
      calls.lock(descriptor, LOCK_EX | LOCK_NB)
    }
  }

  /// Releases the lock, even if a child process that was just forked has inherited it.
  ///
  /// A child has the file open until exec. If the file were only closed here, the child would keep
  /// the lock until then.
  package func unlock() { _ = calls.lock(descriptor, LOCK_UN) }
}

extension ArraySlice<UnsafeRawBufferPointer> {
  /// Removes `bytes` bytes from the start, and empty buffers there.
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

/// The type of an entry in a folder.
package enum FileKind: Hashable, Sendable {
  case file, directory, link, other

  /// Converts a type of readdir(3), or nil if the type is unknown.
  init?(entryType: UInt8) {
    guard Int(entryType) != Int(DT_UNKNOWN) else { return nil }
    // As the macro DTTOIF does.
    self.init(mode: UInt32(entryType) << 12)
  }

  init(mode: UInt32) {
    switch mode & S_IFMT {
    case S_IFREG: self = .file
    case S_IFDIR: self = .directory
    case S_IFLNK: self = .link
    default: self = .other
    }
  }
}

/// The status of a file, from lstat(2) or fstat(2).
package struct FileStatus: Hashable, Sendable {
  package let kind: FileKind
  /// The permission bits, 0 to 0o7777.
  package let permissions: UInt32
  package let identity: FileIdentity
  /// The user identifier of the owner.
  package let owner: UInt32
  /// The last access, in nanoseconds since 1970; the precision depends on mount options.
  package let accessed: Int64

  /// Whether it is readable by its owner, and neither writable nor executable.
  package var isSealed: Bool { permissions & 0o400 != 0 && permissions & ~0o444 == 0 }

  package var size: Int64 { identity.size }

  /// The last change of the bytes, in seconds since 1970.
  package var modified: Double {
    let (seconds, nanoseconds) = identity.modified.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Double(seconds) + Double(nanoseconds) / 1e9
  }

  init(_ status: stat) {
    kind = FileKind(mode: status.st_mode)
    accessed = Self.nanoseconds(status.st_atim)
    permissions = status.st_mode & 0o7777
    owner = UInt32(status.st_uid)
    identity = FileIdentity(
      inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modified: Self.nanoseconds(status.st_mtim), changed: Self.nanoseconds(status.st_ctim))
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

extension timespec {
  /// The time in seconds since 1970.
  init(_ time: Double) {
    let seconds = time.rounded(.down)
    self.init(
      tv_sec: Int(exactly: seconds) ?? 0, tv_nsec: Int(((time - seconds) * 1e9).rounded(.down)))
  }
}
