package import Glibc

/// The system calls by which everything reaches a file system; a simulated disk has its own.
///
/// Each does what the manual page of its name says, returns what that says, and sets `errno` when
/// it fails. None follows a symbolic link, but for `open` and `mkdir`, which take paths. What is
/// needed to look at what is there, and to remove it, takes names that need not be text. From any
/// thread.
package protocol SystemCalls: AnyObject, Sendable {
  // Opening.
  func open(_ path: String, _ flags: Int32) -> Int32
  func openat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t)
    -> Int32
  /// A duplicate with close-on-exec.
  func dup(_ descriptor: Int32) -> Int32
  func close(_ descriptor: Int32)

  // Looking.
  func fstat(_ descriptor: Int32, _ status: inout stat) -> Int32
  func fstatat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ status: inout stat) -> Int32
  func fstatvfs(_ descriptor: Int32, _ status: inout statvfs) -> Int32
  func faccessat(_ folder: Int32, _ name: String) -> Int32
  /// Calls `body` with each name of a folder, `.` and `..` included, and with its `d_type`.
  func readdir(_ folder: Int32, _ body: (UnsafePointer<CChar>, UInt8) -> Void) -> Int32
  func readlinkat(_ folder: Int32, _ name: String, _ text: UnsafeMutableBufferPointer<CChar>) -> Int

  // Names.
  func mkdir(_ path: String, _ mode: mode_t) -> Int32
  func mkdirat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32
  func symlinkat(_ target: String, _ folder: Int32, _ name: String) -> Int32
  func linkat(_ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String) -> Int32
  func renameat(_ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String) -> Int32
  /// `renameat2` with `RENAME_NOREPLACE`.
  func renameWithoutReplacing(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String
  ) -> Int32
  func unlinkat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32

  // Bytes.
  func pread(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: off_t) -> Int
  func write(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int
  /// Takes at most the first 1,024 buffers, as many as the system does.
  func pwritev(_ descriptor: Int32, _ buffers: ArraySlice<UnsafeRawBufferPointer>, _ offset: off_t)
    -> Int
  /// `lseek` with `SEEK_DATA`: from `offset` on, the first byte that is not in a hole.
  func seekData(_ descriptor: Int32, _ offset: off_t) -> off_t
  /// `lseek` with `SEEK_HOLE`: from `offset` on, the first byte of a hole, or the end.
  func seekHole(_ descriptor: Int32, _ offset: off_t) -> off_t
  func ftruncate(_ descriptor: Int32, _ length: off_t) -> Int32
  /// `posix_fallocate` from the beginning, but sets `errno`.
  func allocate(_ descriptor: Int32, _ length: off_t) -> Int32
  /// `sync_file_range` with `SYNC_FILE_RANGE_WRITE`; what it says matters to nobody.
  func beginWritingBack(_ descriptor: Int32)

  // Attributes.
  func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32
  /// `fchmodat` with `AT_SYMLINK_NOFOLLOW`.
  func fchmodat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32
  /// Sets the time of access to now.
  func touch(_ descriptor: Int32)
  /// `futimens` of the time of the last change only.
  func setModified(_ descriptor: Int32, _ time: timespec) -> Int32
  func fsetxattr(_ descriptor: Int32, _ name: String, _ text: String) -> Int32
  /// Sets `FS_NOCOW_FL`, which has an effect on an empty file only.
  func avoidCopyOnWrite(_ descriptor: Int32) -> Int32

  // Durability and locks.
  func fsync(_ descriptor: Int32) -> Int32
  func fdatasync(_ descriptor: Int32) -> Int32
  func syncfs(_ descriptor: Int32) -> Int32
  /// `flock`.
  func lock(_ descriptor: Int32, _ operation: Int32) -> Int32
}

extension SystemCalls {
  /// A file system that does not tell where its holes are.
  package func seekData(_ descriptor: Int32, _ offset: off_t) -> off_t { unsupported() }
  package func seekHole(_ descriptor: Int32, _ offset: off_t) -> off_t { unsupported() }

  /// A file system without copy-on-write.
  package func avoidCopyOnWrite(_ descriptor: Int32) -> Int32 { Int32(unsupported()) }

  private func unsupported() -> off_t {
    errno = EOPNOTSUPP
    return -1
  }
}
