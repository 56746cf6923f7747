import HostedFileIO
package import Glibc

/// The system calls of a simulated disk.
extension SimulatedDisk: SystemCalls {
  /// Fails with `number`.
  func fail(_ number: Int32) -> Int32 {
    errno = number
    return -1
  }

  /// Asks the director.
  ///
  /// Returns false if the call has failed.
  func begin(_ call: DiskCall, _ path: String) -> Bool {
    guard case .fails(let number) = director?.willCall(call, path) else { return true }
    errno = number
    return false
  }

  func path(_ folder: Int32, _ name: String) -> String {
    let parent = opened(folder)?.path ?? "?"
    return parent.hasSuffix("/") ? parent + name : "\(parent)/\(name)"
  }

  func folder(_ descriptor: Int32) -> DiskNode? {
    guard let node = opened(descriptor)?.node, node.kind == .directory else { return nil }
    return node
  }

  /// Returns the node at an absolute path, without following links, which do not occur here.
  private func node(at path: String) -> DiskNode? {
    path.split(separator: "/").reduce(root) { node, name in node?.names[String(name)] }
  }

  // MARK: Opening

  private func open(_ path: String, _ flags: Int32) -> Int32 {
    guard begin(.open, path) else { return -1 }
    guard let node = node(at: path) else { return fail(ENOENT) }
    if flags & O_DIRECTORY != 0, node.kind != .directory { return fail(ENOTDIR) }
    return describe(node, path)
  }

  package func openat(
    _ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t
  ) -> Int32 {
    let name = String(cString: name)
    if folder == AT_FDCWD { return open(name, flags) }
    let path = path(folder, name)
    let mayCreate = flags & O_CREAT != 0
    guard begin(mayCreate ? .create : .open, path) else { return -1 }
    guard let parent = self.folder(folder) else { return fail(EBADF) }
    if let node = parent.names[name] {
      if mayCreate, flags & O_EXCL != 0 { return fail(EEXIST) }
      if node.kind == .link { return fail(flags & O_DIRECTORY != 0 ? ENOTDIR : ELOOP) }
      if flags & O_DIRECTORY != 0, node.kind != .directory { return fail(ENOTDIR) }
      if node.kind == .directory, flags & (O_WRONLY | O_RDWR) != 0 { return fail(EISDIR) }
      if node.kind == .file, flags & (O_WRONLY | O_RDWR) != 0, node.mode & 0o200 == 0 {
        return fail(EACCES)
      }
      return describe(node, path)
    }
    guard mayCreate else { return fail(ENOENT) }
    guard parent.links > 0 else { return fail(ENOENT) }
    guard availableBytes > 4096 else { return fail(ENOSPC) }
    let node = make(.file, mode: mode)
    change([NameChange.Place(folder: parent, name: name, node: node)])
    let descriptor = describe(node, path)
    director?.didChange(.create, path)
    return descriptor
  }

  package func dup(_ descriptor: Int32) -> Int32 { fail(ENOSYS) }

  package func close(_ descriptor: Int32) { forget(descriptor) }

  // MARK: Status

  private func fill(_ status: inout stat, _ node: DiskNode) {
    let kind: UInt32 =
      switch node.kind {
      case .file: S_IFREG
      case .directory: S_IFDIR
      case .link: S_IFLNK
      case .other: 0
      }
    status.st_mode = kind | node.mode
    status.st_ino = UInt(node.number)
    status.st_size = node.bytes.count
    status.st_nlink = UInt(node.links)
    status.st_mtim = timespec(node.modified)
    status.st_ctim = timespec(node.changed)
    status.st_atim = timespec(node.accessed)
  }

  package func fstat(_ descriptor: Int32, _ status: inout stat) -> Int32 {
    guard begin(.stat, opened(descriptor)?.path ?? "?") else { return -1 }
    guard let open = opened(descriptor) else { return fail(EBADF) }
    fill(&status, open.node)
    return 0
  }

  package func fstatat(
    _ folder: Int32, _ name: UnsafePointer<CChar>, _ status: inout stat
  ) -> Int32 {
    let name = String(cString: name)
    guard begin(.stat, path(folder, name)) else { return -1 }
    guard let parent = self.folder(folder) else { return fail(EBADF) }
    guard let node = parent.names[name] else { return fail(ENOENT) }
    fill(&status, node)
    return 0
  }

  package func fstatvfs(_ descriptor: Int32, _ status: inout statvfs) -> Int32 {
    guard begin(.statvfs, opened(descriptor)?.path ?? "?") else { return -1 }
    status.f_frsize = 1
    status.f_bavail = UInt(availableBytes)
    return 0
  }

  package func readdir(
    _ folder: Int32, _ body: (UnsafePointer<CChar>, UInt8) -> Void
  ) -> Int32 {
    guard begin(.list, opened(folder)?.path ?? "?") else { return -1 }
    guard let node = self.folder(folder) else { return fail(EBADF) }
    // A file system has its own order.
    for (name, node) in node.names.sorted(by: {
      ($0.value.number, $0.key) < ($1.value.number, $1.key)
    }) {
      let type =
        switch node.kind {
        case .file: DT_REG
        case .directory: DT_DIR
        case .link: DT_LNK
        case .other: DT_UNKNOWN
        }
      body(name, UInt8(type))
    }
    return 0
  }

  package func readlinkat(
    _ folder: Int32, _ name: String, _ text: UnsafeMutableBufferPointer<CChar>
  ) -> Int {
    guard begin(.readlink, path(folder, name)) else { return -1 }
    guard let node = self.folder(folder)?.names[name] else { return Int(fail(ENOENT)) }
    guard node.kind == .link else { return Int(fail(EINVAL)) }
    for (index, byte) in node.bytes.enumerated() { text[index] = CChar(bitPattern: byte) }
    return node.bytes.count
  }

  // MARK: Names

  private func mkdir(_ path: String, _ mode: mode_t) -> Int32 {
    guard begin(.mkdir, path) else { return -1 }
    var components = path.split(separator: "/").map(String.init)
    guard let name = components.popLast() else { return fail(EEXIST) }
    guard let parent = node(at: components.joined(separator: "/")), parent.kind == .directory else {
      return fail(ENOENT)
    }
    return makeFolder(name, in: parent, mode, path)
  }

  package func mkdirat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32 {
    if folder == AT_FDCWD { return mkdir(name, mode) }
    let path = path(folder, name)
    guard begin(.mkdir, path) else { return -1 }
    guard let parent = self.folder(folder) else { return fail(EBADF) }
    return makeFolder(name, in: parent, mode, path)
  }

  private func makeFolder(
    _ name: String, in parent: DiskNode, _ mode: mode_t, _ path: String
  ) -> Int32 {
    guard parent.names[name] == nil else { return fail(EEXIST) }
    guard parent.links > 0 else { return fail(ENOENT) }
    guard availableBytes > 4096 else { return fail(ENOSPC) }
    let node = make(.directory, mode: mode)
    change([NameChange.Place(folder: parent, name: name, node: node)])
    director?.didChange(.mkdir, path)
    return 0
  }

  package func symlinkat(_ target: String, _ folder: Int32, _ name: String) -> Int32 {
    let path = path(folder, name)
    guard begin(.symlink, path) else { return -1 }
    guard let parent = self.folder(folder) else { return fail(EBADF) }
    guard parent.names[name] == nil else { return fail(EEXIST) }
    guard availableBytes > 4096 else { return fail(ENOSPC) }
    let node = make(.link, mode: 0o777)
    // The text of a short link becomes durable together with its name.
    node.bytes = Array(target.utf8)
    node.durable.bytes = node.bytes
    change([NameChange.Place(folder: parent, name: name, node: node)])
    director?.didChange(.symlink, path)
    return 0
  }

  package func linkat(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String
  ) -> Int32 {
    let path = path(newFolder, newName)
    guard begin(.link, path) else { return -1 }
    guard let parent = self.folder(folder), let target = self.folder(newFolder) else {
      return fail(EBADF)
    }
    guard let node = parent.names[name] else { return fail(ENOENT) }
    guard target.names[newName] == nil else { return fail(EEXIST) }
    guard node.kind != .directory else { return fail(EPERM) }
    change([NameChange.Place(folder: target, name: newName, node: node)])
    director?.didChange(.link, path)
    return 0
  }

  private enum RenameRule {
    case replacing, notReplacing
  }

  package func renameat(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String
  ) -> Int32 {
    rename(folder, name, newFolder, newName, .replacing)
  }

  package func renameWithoutReplacing(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String
  ) -> Int32 {
    // NFS, and ZFS before 2.2, fail with EINVAL.
    hasRenameFlags ? rename(folder, name, newFolder, newName, .notReplacing) : fail(EINVAL)
  }

  private func rename(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String, _ rule: RenameRule
  ) -> Int32 {
    let path = path(newFolder, newName)
    guard begin(.rename, path) else { return -1 }
    guard let parent = self.folder(folder), let target = self.folder(newFolder) else {
      return fail(EBADF)
    }
    guard let node = parent.names[name], target.links > 0 else { return fail(ENOENT) }
    let old = target.names[newName]
    if rule == .notReplacing, old != nil { return fail(EEXIST) }
    if node.holds(target) { return fail(EINVAL) }
    if let old, old.holds(parent) { return fail(ENOTEMPTY) }
    if let old, old === node { return 0 }
    if rule == .replacing, let old {
      guard node.kind == .directory || old.kind != .directory else { return fail(EISDIR) }
      guard node.kind != .directory || old.kind == .directory else { return fail(ENOTDIR) }
      guard old.names.isEmpty else { return fail(ENOTEMPTY) }
    }
    change([
      NameChange.Place(folder: parent, name: name, node: nil),
      NameChange.Place(folder: target, name: newName, node: node),
    ])
    director?.didChange(.rename, path)
    return 0
  }

  package func unlinkat(
    _ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32
  ) -> Int32 {
    let name = String(cString: name)
    let path = path(folder, name)
    guard begin(.unlink, path) else { return -1 }
    guard let parent = self.folder(folder) else { return fail(EBADF) }
    guard let node = parent.names[name] else { return fail(ENOENT) }
    if flags & AT_REMOVEDIR != 0 {
      guard node.kind == .directory else { return fail(ENOTDIR) }
      guard node.names.isEmpty else { return fail(ENOTEMPTY) }
    } else if node.kind == .directory {
      return fail(EISDIR)
    }
    change([NameChange.Place(folder: parent, name: name, node: nil)])
    director?.didChange(.unlink, path)
    return 0
  }
}

extension timespec {
  fileprivate init(_ nanoseconds: Int64) {
    self.init(
      tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}
