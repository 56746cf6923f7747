import HostedCSQLite
import HostedConcurrency

/// Makes SQLite's syncs of a write-ahead log fail after the write, or its writes.
///
/// SQLite does not have a hook for fsync, so each opened log gets a copy of its file methods with
/// another `xSync` and `xWrite`. C functions cannot capture state, so they use static variables.
enum FailingSync {
  private struct State {
    /// Paths of open logs, by the address of their file.
    var logs: [UInt: String] = [:]
    /// Logs whose sync fails.
    var failing: Set<String> = []
    /// Logs for which the disk is full.
    var full: Set<String> = []
    /// The number of failed syncs, by log.
    var failures: [String: Int] = [:]
  }

  private static let state = Mutex(State())
  private static let real = Pointer(sqlite3_vfs_find(nil))
  // Written once, by `isInstalled`. On the heap, because Swift 6.3 gives a static value of a C
  // struct no bytes for its padding, and writes beyond its end.
  nonisolated(unsafe) private static let files = UnsafeMutablePointer<sqlite3_vfs>
    .allocate(capacity: 1)
  // Written inside `state`, once; SQLite reads what they point to from any thread.
  nonisolated(unsafe) private static let methods = UnsafeMutablePointer<sqlite3_io_methods>
    .allocate(capacity: 1)
  nonisolated(unsafe) private static var realMethods: UnsafePointer<sqlite3_io_methods>?

  /// An immutable pointer to what SQLite never frees.
  private struct Pointer: @unchecked Sendable {
    // Unchecked, because SQLite does not change what it points to.
    let files: UnsafeMutablePointer<sqlite3_vfs>?

    init(_ files: UnsafeMutablePointer<sqlite3_vfs>?) { self.files = files }
  }

  /// Installs the hooks; databases opened later have logs whose sync can fail.
  static let isInstalled: Bool = {
    guard let real = real.files else { return false }
    files.initialize(to: real.pointee)
    files.pointee.pNext = nil
    files.pointee.xOpen = { _, name, file, flags, outFlags in
      FailingSync.open(name, file, flags, outFlags)
    }
    return sqlite3_vfs_register(files, 1) == SQLITE_OK
  }()

  /// Makes the sync of the database's log fail, or succeed again.
  static func set(_ isFailing: Bool, at path: String) {
    state.withLock { state in
      if isFailing {
        state.failing.insert("\(path)-wal")
      } else {
        state.failing.remove("\(path)-wal")
      }
    }
  }

  /// Makes writes to the database's log fail, or succeed again.
  static func setFull(_ isFull: Bool, at path: String) {
    state.withLock { state in
      if isFull {
        state.full.insert("\(path)-wal")
      } else {
        state.full.remove("\(path)-wal")
      }
    }
  }

  /// Returns how often the sync of the database's log has failed.
  static func failures(at path: String) -> Int {
    state.withLock { $0.failures["\(path)-wal", default: 0] }
  }

  private static func open(
    _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ outFlags: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    guard let real = real.files else { return SQLITE_ERROR }
    let code = real.pointee.xOpen(real, name, file, flags, outFlags)
    guard code == SQLITE_OK, flags & SQLITE_OPEN_WAL != 0, let name, let file,
      let found = file.pointee.pMethods
    else { return code }
    state.withLock { state in
      if realMethods == nil {
        realMethods = found
        methods.initialize(to: found.pointee)
        methods.pointee.xSync = { file, flags in FailingSync.sync(file, flags) }
        methods.pointee.xWrite = { file, bytes, count, offset in
          FailingSync.write(file, bytes, count, offset)
        }
      }
      state.logs[UInt(bitPattern: file)] = String(cString: name)
    }
    file.pointee.pMethods = UnsafePointer(methods)
    return code
  }

  private static func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
    let (fails, real) = state.withLock { state in
      let log = state.logs[UInt(bitPattern: file)] ?? ""
      let fails = state.failing.contains(log)
      if fails { state.failures[log, default: 0] += 1 }
      return (fails, realMethods.map { UInt(bitPattern: $0) })
    }
    if fails { return SQLITE_IOERR | (4 << 8) }  // SQLITE_IOERR_FSYNC
    let methods = real.flatMap { UnsafePointer<sqlite3_io_methods>(bitPattern: $0) }
    return methods?.pointee.xSync(file, flags) ?? SQLITE_ERROR
  }

  private static func write(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32,
    _ offset: Int64
  ) -> Int32 {
    let (isFull, real) = state.withLock { state in
      let log = state.logs[UInt(bitPattern: file)] ?? ""
      return (state.full.contains(log), realMethods.map { UInt(bitPattern: $0) })
    }
    if isFull { return SQLITE_FULL }
    let methods = real.flatMap { UnsafePointer<sqlite3_io_methods>(bitPattern: $0) }
    return methods?.pointee.xWrite(file, bytes, count, offset) ?? SQLITE_ERROR
  }
}
