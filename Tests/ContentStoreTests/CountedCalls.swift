import Glibc
import HostedConcurrency
@testable import HostedFileIO

/// The system calls of the kernel; counts the bytes that are read from files.
final class CountedCalls: SystemCalls {
  private let calls = FileSystem.real.calls
  private let count = Mutex(0)
  /// The free bytes that file systems report; nil is the real number.
  private let freeBytes: Int?

  init(freeBytes: Int? = nil) { self.freeBytes = freeBytes }

  /// The bytes that were read from files.
  var bytesRead: Int { count.withLock { $0 } }

  func pread(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: off_t) -> Int {
    let result = calls.pread(descriptor, buffer, offset)
    count.withLock { $0 += max(0, result) }
    return result
  }

  func fstatvfs(_ descriptor: Int32, _ status: inout statvfs) -> Int32 {
    let result = calls.fstatvfs(descriptor, &status)
    if let freeBytes { status.f_bavail = UInt(freeBytes) / max(1, status.f_frsize) }
    return result
  }

  // MARK: Unchanged

  func openat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t)
    -> Int32
  { calls.openat(folder, name, flags, mode) }

  func dup(_ descriptor: Int32) -> Int32 { calls.dup(descriptor) }

  func close(_ descriptor: Int32) { calls.close(descriptor) }

  func fstat(_ descriptor: Int32, _ status: inout stat) -> Int32 {
    calls.fstat(descriptor, &status)
  }

  func fstatat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ status: inout stat) -> Int32 {
    calls.fstatat(folder, name, &status)
  }

  func birthTime(_ folder: Int32, _ name: UnsafePointer<CChar>) -> Int64 {
    calls.birthTime(folder, name)
  }

  func checkWritable(_ folder: Int32, _ name: String) -> Int32 { calls.checkWritable(folder, name) }

  func readdir(_ folder: Int32, _ body: (UnsafePointer<CChar>, UInt8) -> Void) -> Int32 {
    calls.readdir(folder, body)
  }

  func readlinkat(_ folder: Int32, _ name: String, _ text: UnsafeMutableBufferPointer<CChar>)
    -> Int
  { calls.readlinkat(folder, name, text) }

  func mkdirat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32 {
    calls.mkdirat(folder, name, mode)
  }

  func symlinkat(_ target: String, _ folder: Int32, _ name: String) -> Int32 {
    calls.symlinkat(target, folder, name)
  }

  func linkat(_ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String) -> Int32 {
    calls.linkat(folder, name, newFolder, newName)
  }

  func renameat(_ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String) -> Int32 {
    calls.renameat(folder, name, newFolder, newName)
  }

  func renameWithoutReplacing(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String
  ) -> Int32 {
    calls.renameWithoutReplacing(folder, name, newFolder, newName)
  }

  func unlinkat(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
    calls.unlinkat(folder, name, flags)
  }

  func write(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    calls.write(descriptor, buffer)
  }

  func pwritev(_ descriptor: Int32, _ buffers: ArraySlice<UnsafeRawBufferPointer>, _ offset: off_t)
    -> Int
  { calls.pwritev(descriptor, buffers, offset) }

  func seekData(_ descriptor: Int32, _ offset: off_t) -> off_t {
    calls.seekData(descriptor, offset)
  }

  func seekHole(_ descriptor: Int32, _ offset: off_t) -> off_t {
    calls.seekHole(descriptor, offset)
  }

  func ftruncate(_ descriptor: Int32, _ length: off_t) -> Int32 {
    calls.ftruncate(descriptor, length)
  }

  func allocate(_ descriptor: Int32, _ length: off_t) -> Int32 {
    calls.allocate(descriptor, length)
  }

  func beginWritingBack(_ descriptor: Int32) { calls.beginWritingBack(descriptor) }

  func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 { calls.fchmod(descriptor, mode) }

  func fchmodat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32 {
    calls.fchmodat(folder, name, mode)
  }

  func touch(_ descriptor: Int32) -> Int32 { calls.touch(descriptor) }

  func setModified(_ descriptor: Int32, _ time: timespec) -> Int32 {
    calls.setModified(descriptor, time)
  }

  func fsetxattr(_ descriptor: Int32, _ name: String, _ text: String) -> Int32 {
    calls.fsetxattr(descriptor, name, text)
  }

  func avoidCopyOnWrite(_ descriptor: Int32) -> Int32 { calls.avoidCopyOnWrite(descriptor) }

  func fsync(_ descriptor: Int32) -> Int32 { calls.fsync(descriptor) }

  func fdatasync(_ descriptor: Int32) -> Int32 { calls.fdatasync(descriptor) }

  func syncfs(_ descriptor: Int32) -> Int32 { calls.syncfs(descriptor) }

  func lock(_ descriptor: Int32, _ operation: Int32) -> Int32 { calls.lock(descriptor, operation) }
}
