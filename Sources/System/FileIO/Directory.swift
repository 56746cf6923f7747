import ContentModel
import Glibc
import Concurrency

/// An open folder; everything in it is reached by one name, relative to its descriptor.
///
/// No link is followed, so whoever swaps a folder for a link cannot lead a write elsewhere. May be
/// used from any thread. Closed when the last reference goes.
package final class Directory: Sendable {
  /// The path as it was opened, for messages only.
  package let path: String
  package let fileSystem: FileSystem
  let descriptor: Int32
  private let isLocked = Atomic(false)

  var calls: any SystemCalls { fileSystem.calls }

  init(descriptor: Int32, path: String, fileSystem: FileSystem) {
    self.descriptor = descriptor
    self.path = path
    self.fileSystem = fileSystem
  }

  deinit {
    // A child that is being started has the folder open, too, until it runs its own program.
    if isLocked.load(ordering: .relaxed) { _ = calls.lock(descriptor, LOCK_UN) }
    calls.close(descriptor)
  }

  /// The path of `name` in here, for messages and URLs.
  package func path(of name: String) -> String {
    path.hasSuffix("/") ? path + name : "\(path)/\(name)"
  }

  // MARK: Folders

  /// Opens the folder `name`.
  package func directory(_ name: String) throws -> Directory {
    try checkName(name)
    return try directory(at: name, path(of: name))
  }

  private func directory(at name: UnsafePointer<CChar>, _ path: String) throws -> Directory {
    let opened = try fileSystem.perform(.open, path) {
      calls.openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    }
    return Directory(descriptor: opened, path: path, fileSystem: fileSystem)
  }

  /// Creates the folder `name` with `mode`; an existing one is opened unless `exclusive`.
  @discardableResult
  package func createDirectory(_ name: String, mode: UInt32 = 0o755, exclusive: Bool = false) throws
    -> Directory
  {
    try checkName(name)
    try fileSystem.perform(.createDirectory, path(of: name), unless: exclusive ? [] : [EEXIST]) {
      calls.mkdirat(descriptor, name, mode)
    }
    do {
      return try directory(name)
    } catch {
      // The caller does not know that it was created. rmdir(2) keeps what others have put into it.
      if exclusive { try? remove(at: name, path(of: name), AT_REMOVEDIR) }
      throw error
    }
  }

  /// Opens this folder again: a lock on one of the two keeps others out of the other one.
  package func reopened() throws -> Directory { try directory(at: ".", path) }

  /// Opens the folder at `components` below this one, one by one.
  package func directory(at components: some Sequence<some StringProtocol>) throws -> Directory {
    try components.reduce(self) { try $0.directory(String($1)) }
  }

  /// What is in here, without `.` and `..`, in no order.
  package func entries() throws -> [DirectoryEntry] {
    var listed: [(name: [UInt8], type: UInt8)] = []
    try fileSystem.perform(.list, path) {
      listed = []
      return calls.readdir(descriptor) { name, type in
        listed.append((Array(UnsafeRawBufferPointer(start: name, count: strlen(name))), type))
      }
    }
    return try listed.filter { $0.name != Array(".".utf8) && $0.name != Array("..".utf8) }
      .map { name, type in
        if let kind = FileKind(entryType: type) { return DirectoryEntry(name, kind) }
        // Some file systems do not say what an entry is.
        let entry = DirectoryEntry(name, .other)
        let status = try status(at: entry.terminatedName, path(of: entry.name))
        return DirectoryEntry(name, status?.kind ?? .other)
      }
  }

  // MARK: Files

  /// Opens the regular file `name` for reading.
  package func file(_ name: String) throws -> File { try open(name, O_RDONLY, .open) }

  /// Creates `name`, which must not exist, for reading and writing.
  package func createFile(_ name: String, mode: UInt32 = 0o644) throws -> File {
    try open(name, O_RDWR | O_CREAT | O_EXCL, .create, mode)
  }

  /// Opens `name` for reading and writing; creates it when it is not there.
  package func updatedFile(_ name: String, mode: UInt32 = 0o644) throws -> File {
    try open(name, O_RDWR | O_CREAT, .create, mode)
  }

  private func open(_ name: String, _ flags: Int32, _ operation: FileOperation, _ mode: UInt32 = 0)
    throws -> File
  {
    try checkName(name)
    // O_NONBLOCK: opening a FIFO that somebody put there must not hang; regular files ignore it.
    let opened = try fileSystem.perform(operation, path(of: name)) {
      calls.openat(descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode)
    }
    return File(descriptor: opened, path: path(of: name), fileSystem: fileSystem)
  }

  /// All bytes of `name`; `limitExceeded` when it is longer than `limit`.
  package func contents(of name: String, limit: Int64) throws -> [UInt8] {
    try file(name).contents(limit: limit)
  }

  /// What `name` is, without following a link; nil when it is not there.
  package func status(of name: String) throws -> FileStatus? {
    try checkName(name)
    return try status(at: name, path(of: name))
  }

  private func status(at name: UnsafePointer<CChar>, _ path: String) throws -> FileStatus? {
    var status = stat()
    let isThere = try fileSystem.perform(.status, path, unless: [ENOENT]) {
      calls.fstatat(descriptor, name, &status)
    }
    return isThere ? FileStatus(status) : nil
  }

  // MARK: Links

  /// Creates a symbolic link `name` whose text is `target`.
  package func createLink(_ name: String, to target: String) throws {
    try checkName(name)
    try fileSystem.perform(.link, path(of: name)) { calls.symlinkat(target, descriptor, name) }
  }

  /// The text of the symbolic link `name`; nil when there is none.
  package func link(_ name: String) throws -> String? {
    try linkBytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The bytes of the symbolic link `name`, which need not be text; nil when there is none.
  package func linkBytes(_ name: String) throws -> [UInt8]? {
    try checkName(name)
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let answer = try fileSystem.attempt(.read, path(of: name)) {
      buffer.withUnsafeMutableBytes { buffer in
        buffer.withMemoryRebound(to: CChar.self) { calls.readlinkat(descriptor, name, $0) }
      }
    }
    switch answer {
    case .success(let count): return Array(buffer[..<count])
    case .failure(let failure) where [ENOENT, EINVAL].contains(failure.number): return nil
    case .failure(let failure): throw ContentError(errno: failure.number, .read, path(of: name))
    }
  }

  /// Gives the file `name` a second name, `newName` in `folder`.
  package func hardLink(_ name: String, to folder: Directory, _ newName: String) throws {
    try checkName(newName)
    try fileSystem.perform(.link, folder.path(of: newName)) {
      calls.linkat(descriptor, name, folder.descriptor, newName)
    }
  }

  // MARK: Moving and removing

  /// Renames `name` to `newName` in `folder`, atomically; an existing one is replaced.
  package func rename(_ name: String, to folder: Directory, _ newName: String) throws {
    try checkName(name)
    try fileSystem.perform(.rename, folder.path(of: newName)) {
      calls.renameat(descriptor, name, folder.descriptor, newName)
    }
  }

  /// Renames `name` to `newName` in `folder`, atomically; an existing one is an error (EEXIST).
  package func renameWithoutReplacing(_ name: String, to folder: Directory, _ newName: String)
    throws
  {
    try checkName(name)
    let path = folder.path(of: newName)
    let answer = try fileSystem.attempt(.rename, path) {
      calls.renameWithoutReplacing(descriptor, name, folder.descriptor, newName)
    }
    guard case .failure(let failure) = answer else { return }
    guard failure.number == EINVAL else { throw ContentError(errno: failure.number, .rename, path) }
    // NFS, ZFS before 2.2 and some FUSE file systems do not have the flag. To look first is enough
    // where one process works, as the library's lock ensures; and no rename replaces a folder that
    // is not empty.
    try fileSystem.perform(.rename, path) { () -> Int32 in
      guard calls.faccessat(folder.descriptor, newName) != 0 else {
        errno = EEXIST
        return -1
      }
      return calls.renameat(descriptor, name, folder.descriptor, newName)
    }
  }

  /// Removes the file or link `name`; one that is not there is no error.
  package func removeFile(_ name: String) throws {
    try checkName(name)
    try remove(at: name, path(of: name), 0)
  }

  /// Removes `name` and all in it, following no link; one that is not there is no error.
  package func removeTree(_ name: String) throws {
    try checkName(name)
    try removeTree(at: name, path(of: name))
  }

  /// Removes what was listed and all in it, following no link; what is not there is no error.
  package func removeTree(_ entry: DirectoryEntry) throws {
    try removeTree(at: entry.terminatedName, path(of: entry.name))
  }

  private func removeTree(at name: UnsafePointer<CChar>, _ path: String) throws {
    guard let status = try status(at: name, path) else { return }
    guard status.kind == .directory else { return try remove(at: name, path, 0) }
    let folder = try directory(at: name, path)
    for entry in try folder.entries() { try folder.removeTree(entry) }
    try remove(at: name, path, AT_REMOVEDIR)
  }

  private func remove(at name: UnsafePointer<CChar>, _ path: String, _ flags: Int32) throws {
    try fileSystem.perform(.remove, path, unless: [ENOENT]) {
      calls.unlinkat(descriptor, name, flags)
    }
  }

  // MARK: Durability

  /// Makes the names in here durable.
  package func sync() throws {
    try fileSystem.perform(.sync, path) { calls.fsync(descriptor) }
  }

  /// Makes everything on this folder's file system durable, bytes and names.
  package func syncFileSystem() throws {
    try fileSystem.perform(.sync, path) { calls.syncfs(descriptor) }
  }

  /// Writes `bytes` as `name` so that after a crash the old or the new file is there, whole.
  ///
  /// A crash can leave `.<name>.new`, which the next call with the same name removes.
  package func replaceFile(_ name: String, with bytes: [UInt8], mode: UInt32 = 0o644) throws {
    let temporary = ".\(name).new"
    try removeFile(temporary)
    let file = try createFile(temporary, mode: mode)
    try file.write(bytes)
    try file.sync()
    try rename(temporary, to: self, name)
    try sync()
  }

  // MARK: Use by several processes

  /// Takes a lock on this folder for as long as it is open, or changes the one it has.
  ///
  /// Any number may share it, or one holds it alone. False when others' locks are in the way.
  package func tryLock(alone: Bool) throws -> Bool {
    let isTaken = try fileSystem.perform(.lock, path, unless: [EWOULDBLOCK]) {
      calls.lock(descriptor, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB)
    }
    if isTaken { isLocked.store(true, ordering: .relaxed) }
    return isTaken
  }

  /// Notes that the folder is used now, as its time of access; without a right to it nothing
  /// happens.
  package func touch() {
    _ = try? fileSystem.attempt(.write, path) {
      calls.touch(descriptor)
      return 0
    }
  }

  /// Sets the permission bits of this folder.
  package func setPermissions(_ permissions: UInt32) throws {
    try fileSystem.perform(.write, path) { calls.fchmod(descriptor, permissions) }
  }

  /// Sets the time of the folder's last change, in seconds since 1970.
  package func setModified(_ time: Double) throws {
    let seconds = time.rounded(.down)
    let value = timespec(
      tv_sec: Int(exactly: seconds) ?? 0, tv_nsec: Int(((time - seconds) * 1e9).rounded(.down)))
    try fileSystem.perform(.write, path) { calls.setModified(descriptor, value) }
  }

  /// What this folder is now, also if its name is another one meanwhile.
  package func status() throws -> FileStatus {
    var status = stat()
    try fileSystem.perform(.status, path) { calls.fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// Sets the extended attribute `name`; false where the file system has none.
  @discardableResult
  package func setAttribute(_ name: String, to text: String) -> Bool {
    let answer = try? fileSystem.attempt(.write, path) {
      calls.fsetxattr(descriptor, name, text)
    }
    if case .success = answer { return true } else { return false }
  }

  /// Bytes that this user may still write on this folder's file system.
  package func availableBytes() throws -> Int64 { try space().available }

  /// Bytes that this user may still write on this folder's file system, and bytes of its blocks.
  package func space() throws -> (available: Int64, blockLength: Int64) {
    var status = statvfs()
    try fileSystem.perform(.status, path) { calls.fstatvfs(descriptor, &status) }
    let blockLength = max(1, Int64(clamping: status.f_frsize))
    return (Int64(clamping: status.f_bavail) * blockLength, blockLength)
  }

  private func checkName(_ name: String) throws {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")),
      !name.utf8.contains(0)
    else {
      throw ContentError(
        .inconsistent, "“\(name)” is not one file name in \(path)", remedy: "Report it",
        subject: path)
    }
  }
}
