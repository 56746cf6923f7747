package import Glibc
import HostedCLinux

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

final class Kernel: SystemCalls {
  static let shared = Kernel()

  // MARK: Opening

  func openat(
    _ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t
  ) -> Int32 {
    Glibc.openat(folder, name, flags, mode)
  }

  func dup(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }

  func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

  // MARK: Status

  func fstat(_ descriptor: Int32, _ status: inout stat) -> Int32 {
    Glibc.fstat(descriptor, &status)
  }

  func fstatat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ status: inout stat) -> Int32 {
    Glibc.fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW)
  }

  func birthTime(_ folder: Int32, _ name: UnsafePointer<CChar>) -> Int64 {
    hc_birth_time(folder, name)
  }

  func fstatvfs(_ descriptor: Int32, _ status: inout statvfs) -> Int32 {
    Glibc.fstatvfs(descriptor, &status)
  }

  func checkWritable(_ folder: Int32, _ name: String) -> Int32 {
    Glibc.faccessat(folder, name, W_OK, AT_EACCESS)
  }

  func readdir(_ folder: Int32, _ body: (UnsafePointer<CChar>, UInt8) -> Void) -> Int32 {
    // Opened again, since reading changes the position, and closing the stream closes the
    // descriptor.
    let duplicate = Glibc.openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard duplicate != -1 else { return -1 }
    guard let stream = fdopendir(duplicate) else {
      let number = errno
      close(duplicate)
      errno = number
      return -1
    }
    defer { closedir(stream) }
    errno = 0
    while let entry = Glibc.readdir(stream) {
      let type = entry.pointee.d_type
      withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { body($0, type) }
      }
      errno = 0
    }
    return errno == 0 ? 0 : -1
  }

  func readlinkat(_ folder: Int32, _ name: String, _ text: UnsafeMutableBufferPointer<CChar>) -> Int
  {
    text.baseAddress.map { Glibc.readlinkat(folder, name, $0, text.count) } ?? 0
  }

  // MARK: Names

  func mkdirat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32 {
    Glibc.mkdirat(folder, name, mode)
  }

  func symlinkat(_ target: String, _ folder: Int32, _ name: String) -> Int32 {
    Glibc.symlinkat(target, folder, name)
  }

  func linkat(_ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String) -> Int32 {
    Glibc.linkat(folder, name, newFolder, newName, 0)
  }

  func renameat(_ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String) -> Int32 {
    Glibc.renameat(folder, name, newFolder, newName)
  }

  func renameWithoutReplacing(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String
  ) -> Int32 {
    hc_rename_without_replacing(folder, name, newFolder, newName)
  }

  func unlinkat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
    Glibc.unlinkat(folder, name, flags)
  }

  // MARK: Bytes

  func pread(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: off_t) -> Int {
    Glibc.pread(descriptor, buffer.baseAddress, buffer.count, offset)
  }

  func write(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    Glibc.write(descriptor, buffer.baseAddress, buffer.count)
  }

  func pwritev(_ descriptor: Int32, _ buffers: ArraySlice<UnsafeRawBufferPointer>, _ offset: off_t)
    -> Int
  {
    let count = min(buffers.count, 1024)
    return withUnsafeTemporaryAllocation(of: iovec.self, capacity: count) { vectors in
      for (number, buffer) in buffers.prefix(count).enumerated() {
        // The call only reads them.
        vectors.initializeElement(
          at: number,
          to: iovec(
            iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count))
      }
      return Glibc.pwritev(descriptor, vectors.baseAddress, Int32(count), offset)
    }
  }

  // Glibc's module does not export SEEK_DATA and SEEK_HOLE.
  func seekData(_ descriptor: Int32, _ offset: off_t) -> off_t { lseek(descriptor, offset, 3) }

  func seekHole(_ descriptor: Int32, _ offset: off_t) -> off_t { lseek(descriptor, offset, 4) }

  func ftruncate(_ descriptor: Int32, _ length: off_t) -> Int32 {
    Glibc.ftruncate(descriptor, length)
  }

  func allocate(_ descriptor: Int32, _ length: off_t) -> Int32 {
    let number = posix_fallocate(descriptor, 0, length)
    guard number != 0 else { return 0 }
    errno = number
    return -1
  }

  func beginWritingBack(_ descriptor: Int32) { _ = hc_begin_writing_back(descriptor) }

  // MARK: Attributes

  func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 { Glibc.fchmod(descriptor, mode) }

  func fchmodat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32 {
    Glibc.fchmodat(folder, name, mode, AT_SYMLINK_NOFOLLOW)
  }

  func touch(_ descriptor: Int32) -> Int32 {
    var times = [timespec(), timespec()]
    times[0].tv_nsec = hc_utime_now()
    times[1].tv_nsec = hc_utime_omit()
    return futimens(descriptor, times)
  }

  func setModified(_ descriptor: Int32, _ time: timespec) -> Int32 {
    var times = [timespec(), time]
    times[0].tv_nsec = hc_utime_omit()
    return futimens(descriptor, times)
  }

  func fsetxattr(_ descriptor: Int32, _ name: String, _ text: String) -> Int32 {
    hc_set_attribute(descriptor, name, text, text.utf8.count)
  }

  func avoidCopyOnWrite(_ descriptor: Int32) -> Int32 { hc_avoid_copy_on_write(descriptor) }

  // MARK: Durability and locks

  func fsync(_ descriptor: Int32) -> Int32 { Glibc.fsync(descriptor) }

  func fdatasync(_ descriptor: Int32) -> Int32 { Glibc.fdatasync(descriptor) }

  func syncfs(_ descriptor: Int32) -> Int32 { hc_sync_file_system(descriptor) }

  func lock(_ descriptor: Int32, _ operation: Int32) -> Int32 { flock(descriptor, operation) }
}
