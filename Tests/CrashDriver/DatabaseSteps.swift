import HostedCSQLite
import Glibc

/// Counts SQLite's system calls that change files as steps of this process.
///
/// SQLite allows programs to replace them with functions that cannot capture state, so they use
/// static variables.
enum DatabaseSteps {
  private typealias Open = @convention(c) (UnsafePointer<CChar>?, Int32, Int32) -> Int32
  private typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, Int) -> Int
  private typealias Truncate = @convention(c) (Int32, Int) -> Int32
  private typealias Unlink = @convention(c) (UnsafePointer<CChar>?) -> Int32

  private static let open = unsafeBitCast(current("open"), to: Open?.self)
  private static let write = unsafeBitCast(current("pwrite64"), to: Write?.self)
  private static let truncate = unsafeBitCast(current("ftruncate"), to: Truncate?.self)
  private static let unlink = unsafeBitCast(current("unlink"), to: Unlink?.self)

  /// Installs hooks that call `CrashDriver.step` before each of them.
  static func count() throws {
    // The originals, looked up before they are replaced.
    guard open != nil, write != nil, truncate != nil, unlink != nil else { throw NotReplaceable() }
    let open: Open = { path, flags, mode in
      if flags & O_CREAT != 0 { CrashDriver.step() }
      return DatabaseSteps.open?(path, flags, mode) ?? -1
    }
    let write: Write = { file, bytes, count, offset in
      CrashDriver.step()
      return DatabaseSteps.write?(file, bytes, count, offset) ?? -1
    }
    let truncate: Truncate = { file, size in
      CrashDriver.step()
      return DatabaseSteps.truncate?(file, size) ?? -1
    }
    let unlink: Unlink = { path in
      CrashDriver.step()
      return DatabaseSteps.unlink?(path) ?? -1
    }
    try replace("open", by: unsafeBitCast(open, to: sqlite3_syscall_ptr.self))
    try replace("pwrite64", by: unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
    try replace("ftruncate", by: unsafeBitCast(truncate, to: sqlite3_syscall_ptr.self))
    try replace("unlink", by: unsafeBitCast(unlink, to: sqlite3_syscall_ptr.self))
  }

  private static func current(_ call: String) -> sqlite3_syscall_ptr? {
    guard let files = sqlite3_vfs_find(nil) else { return nil }
    return files.pointee.xGetSystemCall?(files, call)
  }

  private static func replace(_ call: String, by new: @escaping sqlite3_syscall_ptr) throws {
    let files = sqlite3_vfs_find(nil)
    guard files?.pointee.xSetSystemCall?(files, call, new) == SQLITE_OK else {
      throw NotReplaceable()
    }
  }

  private struct NotReplaceable: Error {}
}
