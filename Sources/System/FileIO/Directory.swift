import Glibc
import HostedConcurrency
import HostedModel

/// An open folder.
///
/// Its entries are accessed by one name, relative to its descriptor. Links are not followed, so an
/// attacker who replaces a folder by a link cannot redirect a write. Use it from any thread. The
/// last reference closes it.
package final class Directory: Sendable {
  /// The path that was opened, for messages only.
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
    // A child process has the folder open, too, from fork to exec.
    if isLocked.load(ordering: .relaxed) { _ = calls.lock(descriptor, LOCK_UN) }
    calls.close(descriptor)
  }

  /// Returns the path of `name` in this folder, for messages and URLs.
  package func path(of name: String) -> String {
    path.hasSuffix("/") ? path + name : "\(path)/\(name)"
  }

  // MARK: Folders

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

  /// Creates the folder `name` with `mode`, or opens an existing one unless `exclusive`.
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
      // The caller does not know that it was created. rmdir(2) only removes an empty folder.
      if exclusive { try? remove(at: name, path(of: name), AT_REMOVEDIR) }
      throw error
    }
  }

  /// Opens this folder again; a lock on one of the two also excludes the other one.
  package func reopened() throws -> Directory { try directory(at: ".", path) }

  /// Opens the folder at `components` below this one, one component at a time.
  package func directory(at components: some Sequence<some StringProtocol>) throws -> Directory {
    try components.reduce(self) { try $0.directory(String($1)) }
  }

  /// Returns the entries without `.` and `..`, in no particular order.
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
        // Some file systems do not return the type of an entry.
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

  /// Opens `name` for reading and writing, or creates it.
  package func updatedFile(_ name: String, mode: UInt32 = 0o644) throws -> File {
    try open(name, O_RDWR | O_CREAT, .create, mode)
  }

  private func open(_ name: String, _ flags: Int32, _ operation: FileOperation, _ mode: UInt32 = 0)
    throws -> File
  {
    try checkName(name)
    // O_NONBLOCK prevents a hang if another process put a FIFO there. Regular files ignore it.
    let opened = try fileSystem.perform(operation, path(of: name)) {
      calls.openat(descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode)
    }
    return File(descriptor: opened, path: path(of: name), fileSystem: fileSystem)
  }

  /// Returns all bytes of `name`, or throws `limitExceeded` if there are more than `limit`.
  package func contents(of name: String, limit: Int64) throws -> [UInt8] {
    try file(name).contents(limit: limit)
  }

  /// Returns the status of `name` without following a link, or nil if it does not exist.
  package func status(of name: String) throws -> FileStatus? {
    try checkName(name)
    return try status(at: name, path(of: name))
  }

  private func status(at name: UnsafePointer<CChar>, _ path: String) throws -> FileStatus? {
    var status = stat()
    let exists = try fileSystem.perform(.status, path, unless: [ENOENT]) {
      calls.fstatat(descriptor, name, &status)
    }
    return exists ? FileStatus(status) : nil
  }

  // MARK: Links

  package func createLink(_ name: String, to target: String) throws {
    try checkName(name)
    try fileSystem.perform(.link, path(of: name)) { calls.symlinkat(target, descriptor, name) }
  }

  /// Returns the text of the symbolic link `name`, or nil if it is not a link.
  package func link(_ name: String) throws -> String? {
    try linkBytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the bytes of the link `name`, which may not be text, or nil if it is not a link.
  package func linkBytes(_ name: String) throws -> [UInt8]? {
    try checkName(name)
    let answer = try withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) {
      text in
      try fileSystem.attempt(.read, path(of: name)) { calls.readlinkat(descriptor, name, text) }
        .map { Array(UnsafeRawBufferPointer(text)[..<$0]) }
    }
    switch answer {
    case .success(let bytes): return bytes
    case .failure(let failure) where [ENOENT, EINVAL].contains(failure.number): return nil
    case .failure(let failure): throw ContentError(errno: failure.number, .read, path(of: name))
    }
  }

  /// Creates a hard link to the file `name`, with the name `newName` in `folder`.
  package func hardLink(_ name: String, to folder: Directory, _ newName: String) throws {
    try checkName(name)
    try checkName(newName)
    try fileSystem.perform(.link, folder.path(of: newName)) {
      calls.linkat(descriptor, name, folder.descriptor, newName)
    }
  }

  // MARK: Moving and removing

  /// Renames `name` to `newName` in `folder` atomically, and replaces an existing file.
  package func rename(_ name: String, to folder: Directory, _ newName: String) throws {
    try checkName(name)
    try checkName(newName)
    try fileSystem.perform(.rename, folder.path(of: newName)) {
      calls.renameat(descriptor, name, folder.descriptor, newName)
    }
  }

  /// Renames `name` to `newName` in `folder` atomically, or fails with EEXIST if it exists.
  package func renameWithoutReplacing(_ name: String, to folder: Directory, _ newName: String)
    throws
  {
    try checkName(name)
    try checkName(newName)
    let path = folder.path(of: newName)
    let answer = try fileSystem.attempt(.rename, path) {
      calls.renameWithoutReplacing(descriptor, name, folder.descriptor, newName)
    }
    guard case .failure(let failure) = answer else { return }
    guard failure.number == EINVAL else { throw ContentError(errno: failure.number, .rename, path) }
    // NFS, ZFS before 2.2 and some FUSE file systems do not support the flag. A check before the
    // rename is enough if only one process works, which the library's lock ensures. In addition, no
    // rename replaces a folder that is not empty.
    guard try folder.status(of: newName) == nil else {
      throw ContentError(errno: EEXIST, .rename, path)
    }
    try rename(name, to: folder, newName)
  }

  /// Removes the file or link `name`, if it exists.
  package func removeFile(_ name: String) throws {
    try checkName(name)
    try remove(at: name, path(of: name), 0)
  }

  /// Removes `name` and its content, if it exists, without following links.
  package func removeTree(_ name: String) throws {
    try checkName(name)
    try removeTree(at: name, path(of: name))
  }

  /// Removes a listed entry and its content, if it exists, without following links.
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

  /// Makes the names in this folder durable.
  package func sync() throws { try fileSystem.perform(.sync, path) { calls.fsync(descriptor) } }

  /// Makes all data and names on this folder's file system durable.
  package func syncFileSystem() throws {
    try fileSystem.perform(.sync, path) { calls.syncfs(descriptor) }
  }

  /// Replaces `name` atomically: after a crash, either the complete old or new file exists.
  ///
  /// A crash can leave `.<name>.new`, which the next call with the same name removes. If it is not
  /// `isDurable`, a power failure can leave an incomplete file.
  package func replaceFile(
    _ name: String, with bytes: [UInt8], mode: UInt32 = 0o644, isDurable: Bool = true
  ) throws {
    let temporary = ".\(name).new"
    try removeFile(temporary)
    let file = try createFile(temporary, mode: mode)
    try file.write(bytes)
    if isDurable { try file.sync() }
    try rename(temporary, to: self, name)
    if isDurable { try sync() }
  }

  // MARK: Locks between processes

  /// Locks this folder while it is open, or changes its lock.
  ///
  /// The lock is exclusive if `alone`, otherwise it is shared. Returns false if another lock
  /// conflicts.
  package func tryLock(alone: Bool) throws -> Bool {
    let isTaken = try fileSystem.perform(.lock, path, unless: [EWOULDBLOCK]) {
      calls.lock(descriptor, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB)
    }
    if isTaken { isLocked.store(true, ordering: .relaxed) }
    return isTaken
  }

  // MARK: Attributes and space

  /// Sets the access time to now, or does nothing without permission.
  package func touch() {
    _ = try? fileSystem.attempt(.write, path) { calls.touch(descriptor) }
  }

  package func setPermissions(_ permissions: UInt32) throws {
    try fileSystem.perform(.write, path) { calls.fchmod(descriptor, permissions) }
  }

  /// Sets the modification time of this folder, in seconds since 1970.
  package func setModified(_ time: Double) throws {
    try fileSystem.perform(.write, path) { calls.setModified(descriptor, timespec(time)) }
  }

  /// Returns the status of this open folder, even if it was renamed.
  package func status() throws -> FileStatus {
    var status = stat()
    try fileSystem.perform(.status, path) { calls.fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// Returns when `name` was created, in nanoseconds since 1970, or 0 if this is not recorded.
  ///
  /// Identifies a file together with its inode, which a new file often takes from a removed one.
  package func birthTime(of name: String) throws -> Int64 {
    try fileSystem.perform(.status, path(of: name)) { calls.birthTime(descriptor, name) }
  }

  /// Sets the extended attribute `name`, or does nothing if that fails, such as without support.
  package func setAttribute(_ name: String, to text: String) {
    _ = try? fileSystem.attempt(.write, path) { calls.fsetxattr(descriptor, name, text) }
  }

  /// Returns the bytes that this user may still write to this folder's file system.
  package func availableBytes() throws -> Int64 { try space().available }

  /// Returns the bytes that this user may still write, and the length of a block in bytes.
  package func space() throws -> (available: Int64, blockLength: Int64) {
    var status = statvfs()
    try fileSystem.perform(.status, path) { calls.fstatvfs(descriptor, &status) }
    return (status.availableBytes, status.blockLength)
  }

  // MARK: Empty folders

  /// Removes the folder `name`, unless it has entries or does not exist.
  ///
  /// Returns whether it was removed. rmdir(2) only removes an empty folder, also if an entry is
  /// created at the same time.
  @discardableResult
  package func removeEmptyDirectory(_ name: String) throws -> Bool {
    guard try status(of: name)?.kind == .directory else { return false }
    return try fileSystem.perform(.remove, path(of: name), unless: [ENOENT, ENOTEMPTY, EEXIST]) {
      calls.unlinkat(descriptor, name, AT_REMOVEDIR)
    }
  }

  // MARK: Private files

  /// Opens a file like `updatedFile`, and removes all permissions of other users.
  package func privateFile(_ name: String) throws -> File {
    let file = try updatedFile(name, mode: 0o600)
    let permissions = try file.status().permissions
    if permissions & 0o077 != 0 { try file.setPermissions(permissions & 0o700) }
    return file
  }

  /// Removes the permissions of other users from the file `name`, if it exists.
  ///
  /// Does not open the file, because closing it would release all fcntl(2) locks of this process on
  /// it, such as SQLite's.
  package func makePrivate(_ name: String) throws { try withdraw(0o077, from: name) }

  /// Creates an empty file that other code will map into memory and write, unless it exists.
  ///
  /// With copy-on-write, writing a mapped page can need a new disk block. On a full disk the system
  /// then ends the process with SIGBUS, since a memory access cannot return an error. So the file
  /// keeps its blocks. Errors are ignored, because the code that maps the file also creates it.
  package func createMappedFile(_ name: String) throws {
    let created = try fileSystem.attempt(.create, path(of: name)) {
      calls.openat(descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    }
    guard case .success(let opened) = created else { return }
    try File(descriptor: opened, path: path(of: name), fileSystem: fileSystem).avoidCopyOnWrite()
  }

  /// Removes `rights` from the file `name`, if it exists and has any of them.
  ///
  /// Does not open the file, for the reason in `makePrivate`.
  package func withdraw(_ rights: UInt32, from name: String) throws {
    guard let status = try status(of: name) else { return }
    guard status.kind == .file else {
      throw ContentError(
        .fileFailed, "\(path(of: name)) is not a regular file", remedy: "Move or remove it",
        subject: path(of: name))
    }
    guard status.permissions & rights != 0 else { return }
    try fileSystem.perform(.write, path(of: name)) {
      calls.fchmodat(descriptor, name, status.permissions & 0o777 & ~rights)
    }
  }

  // MARK: Checks without changes

  /// Throws the error of `operation` on `name` if this process may not change this folder.
  ///
  /// Changes nothing.
  package func checkMayChange(_ name: String, _ operation: FileOperation = .create) throws {
    try check(".", name, operation)
  }

  /// Throws the error of opening the existing file `name` for writing, without permission.
  ///
  /// Changes nothing.
  package func checkMayWrite(_ name: String) throws { try check(name, name, .create) }

  private func check(_ checked: String, _ name: String, _ operation: FileOperation) throws {
    let answer = try fileSystem.attempt(.status, path(of: name)) {
      calls.checkWritable(descriptor, checked)
    }
    guard case .failure(let failure) = answer else { return }
    throw ContentError(errno: failure.number, operation, path(of: name))
  }

  // MARK: Temporary folders

  /// Creates a folder, by default one that only this user can open, and removes it after `body`.
  ///
  /// Its name is `prefix`, `-` and a random number. It remains if the process is killed, if it
  /// cannot be removed, or if `body` renames it.
  package func withTemporaryDirectory<Value>(
    _ prefix: String, mode: UInt32 = 0o700, _ body: (Directory) throws -> Value
  ) throws -> Value {
    let name = "\(prefix)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    // Before `defer`, so that the cleanup only removes a folder that this call has created.
    let folder = try createDirectory(name, mode: mode, exclusive: true)
    defer { try? removeTree(name) }
    return try body(folder)
  }

  // MARK: Names

  private func checkName(_ name: String) throws {
    guard !name.isEmpty, name != ".", name != "..",
      name.utf8.allSatisfy({ $0 != UInt8(ascii: "/") && $0 != 0 })
    else {
      throw ContentError.defect("“\(name)” is not a valid file name in \(path)", subject: path)
    }
  }
}

/// An entry of a folder, as the file system lists it.
package struct DirectoryEntry: Sendable {
  /// The name; if it is not UTF-8, this is a readable form that cannot be used as a path.
  package let name: String
  /// The bytes of the name; all bytes except `/` and zero are possible.
  package let bytes: [UInt8]
  package let kind: FileKind

  /// Whether the name is valid UTF-8, so that `name` can be used as a path.
  package var isText: Bool { name.utf8.elementsEqual(bytes) }

  init(_ bytes: [UInt8], _ kind: FileKind) {
    name = String(decoding: bytes, as: UTF8.self)
    self.bytes = bytes
    self.kind = kind
  }

  /// The name as a C string.
  fileprivate var terminatedName: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}

extension statvfs {
  /// The length of a block in bytes.
  fileprivate var blockLength: Int64 { max(1, Int64(clamping: f_frsize)) }

  /// The bytes that this user may still write; some network file systems report the maximum.
  var availableBytes: Int64 {
    let (bytes, overflow) = Int64(clamping: f_bavail).multipliedReportingOverflow(by: blockLength)
    return overflow ? .max : bytes
  }
}

/// Opens folders below a root without following links, and keeps the last ones open.
///
/// Paths are mostly sorted, so few folders are opened more than once. Use it from one thread.
package final class FolderChain {
  private let root: Directory
  private var chain: [(name: String, folder: Directory)] = []
  /// The path of the last folder in `chain`, or nil after an error.
  private var path: String?

  package init(_ root: Directory) { self.root = root }

  /// Returns the folder that contains `path`, and the name in it.
  ///
  /// With `creating`, creates missing folders. Otherwise, throws `fileMissing` if a folder of the
  /// path is missing. Also throws it if one of them is not a folder.
  package func parent(of path: String, creating: Bool = false) throws
    -> (folder: Directory, name: String)
  {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (root, path) }
    let name = String(path[path.utf8.index(after: slash)...])
    return (try folder(at: path[..<slash], creating: creating), name)
  }

  /// Returns the status of `path`, or nil if it or a folder above it is missing.
  package func status(of path: String) throws -> FileStatus? {
    try nilIf(.fileMissing) {
      let place = try parent(of: path)
      return try place.folder.status(of: place.name)
    }
  }

  /// Opens the regular file at `path` for reading.
  package func file(_ path: String) throws -> File {
    let place = try parent(of: path)
    return try place.folder.file(place.name)
  }

  /// Creates the folder at `path` and missing folders above it.
  package func createFolders(_ path: String) throws {
    _ = try folder(at: path[...], creating: true)
  }

  private func folder(at wanted: Substring, creating: Bool) throws -> Directory {
    if let last = chain.last, let path, path.hasSameBytes(as: wanted) { return last.folder }
    let components = wanted.pathComponents()
    let shared = zip(chain, components).prefix { $0.0.name.hasSameBytes(as: $0.1) }.count
    chain.removeLast(chain.count - shared)
    path = nil
    for name in components.dropFirst(shared) {
      let parent = chain.last?.folder ?? root
      chain.append((name, try creating ? parent.createDirectory(name) : parent.directory(name)))
    }
    path = String(wanted)
    return chain.last?.folder ?? root
  }
}
