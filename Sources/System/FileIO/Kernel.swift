import HostedCLinux
import Glibc

/// The system calls of the kernel, without changes.
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
