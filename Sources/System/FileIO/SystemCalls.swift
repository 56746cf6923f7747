package import Glibc

/// The system calls for file systems.
///
/// A simulated disk has its own implementation. Each call behaves and returns as its manual page
/// says, and sets `errno` on failure. Symbolic links are not followed, except by `openat` and
/// `mkdirat` with `AT_FDCWD`, which take paths. Calls that inspect and remove entries take names
/// that may not be valid UTF-8. Use it from any thread.
package protocol SystemCalls: AnyObject, Sendable {
  // Opening.
  func openat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t)
    -> Int32
  /// Duplicates a descriptor with close-on-exec.
  func dup(_ descriptor: Int32) -> Int32
  func close(_ descriptor: Int32)

  // Status.
  func fstat(_ descriptor: Int32, _ status: inout stat) -> Int32
  func fstatat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ status: inout stat) -> Int32
  /// The nanoseconds since 1970 when a file was created, or 0 if this is not recorded.
  func birthTime(_ folder: Int32, _ name: UnsafePointer<CChar>) -> Int64
  func fstatvfs(_ descriptor: Int32, _ status: inout statvfs) -> Int32
  /// `faccessat` with `W_OK` for the effective user; the name `.` is the folder itself.
  func checkWritable(_ folder: Int32, _ name: String) -> Int32
  /// Calls `body` with each name of a folder, including `.` and `..`, and its `d_type`.
  func readdir(_ folder: Int32, _ body: (UnsafePointer<CChar>, UInt8) -> Void) -> Int32
  func readlinkat(_ folder: Int32, _ name: String, _ text: UnsafeMutableBufferPointer<CChar>) -> Int

  // Names.
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
  /// Writes at most the first 1,024 buffers, the limit of the system.
  func pwritev(_ descriptor: Int32, _ buffers: ArraySlice<UnsafeRawBufferPointer>, _ offset: off_t)
    -> Int
  /// `lseek` with `SEEK_DATA`: the first byte at or after `offset` that is not in a hole.
  func seekData(_ descriptor: Int32, _ offset: off_t) -> off_t
  /// `lseek` with `SEEK_HOLE`: the first byte at or after `offset` that is in a hole, or the end.
  func seekHole(_ descriptor: Int32, _ offset: off_t) -> off_t
  func ftruncate(_ descriptor: Int32, _ length: off_t) -> Int32
  /// `posix_fallocate` from offset 0, but with `errno`.
  func allocate(_ descriptor: Int32, _ length: off_t) -> Int32
  /// `sync_file_range` with `SYNC_FILE_RANGE_WRITE`; the result is ignored.
  func beginWritingBack(_ descriptor: Int32)

  // Attributes.
  func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32
  /// `fchmodat` with `AT_SYMLINK_NOFOLLOW`.
  func fchmodat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32
  /// Sets the access time to now.
  func touch(_ descriptor: Int32) -> Int32
  /// Sets only the modification time with `futimens`.
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
