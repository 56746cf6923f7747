import HostedFileIO
package import Glibc

/// The system calls for the contents and attributes of files.
extension SimulatedDisk {
  // MARK: Bytes

  package func pread(
    _ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: off_t
  ) -> Int {
    guard let open = opened(descriptor) else { return Int(fail(EBADF)) }
    let fault = director?.willCall(.read, open.path)
    if case .fails(let number) = fault { return Int(fail(number)) }
    guard open.node.kind == .file else { return Int(fail(EISDIR)) }
    guard offset < open.node.bytes.count else { return 0 }
    var count = min(buffer.count, open.node.bytes.count - offset)
    if fault == .isShort, count > 1 { count /= 2 }
    open.node.bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
    }
    return count
  }

  package func write(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    guard let position = opened(descriptor)?.position else { return Int(fail(EBADF)) }
    let count = pwritev(descriptor, [buffer], off_t(position))
    if count > 0 { move(descriptor, to: position + count) }
    return count
  }

  package func pwritev(
    _ descriptor: Int32, _ buffers: ArraySlice<UnsafeRawBufferPointer>, _ offset: off_t
  ) -> Int {
    guard let open = opened(descriptor) else { return Int(fail(EBADF)) }
    let fault = director?.willCall(.write, open.path)
    if case .fails(let number) = fault { return Int(fail(number)) }
    let node = open.node
    let given = Array(buffers.joined())
    var count = given.count
    if fault == .isShort, count > 1 { count /= 2 }
    let growth = max(0, offset + count - node.bytes.count)
    if growth > availableBytes {
      // Write what fits. The next call fails.
      count -= growth - Int(availableBytes)
      guard count > 0 else { return Int(fail(ENOSPC)) }
    }
    let bytes = Array(given[..<count])
    let length = node.bytes.count
    DiskNode.write(bytes, at: offset, to: &node.bytes)
    resized(node, by: node.bytes.count - length)
    node.pending.append(.write(offset: offset, bytes: bytes))
    node.modified = now
    node.changed = now
    director?.didChange(.write, open.path)
    return count
  }

  package func ftruncate(_ descriptor: Int32, _ length: off_t) -> Int32 {
    guard begin(.truncate, opened(descriptor)?.path ?? "?") else { return -1 }
    guard let open = opened(descriptor) else { return fail(EBADF) }
    let old = open.node.bytes.count
    DiskNode.resize(&open.node.bytes, to: length)
    resized(open.node, by: length - old)
    open.node.pending.append(.truncate(length))
    open.node.modified = now
    open.node.changed = now
    director?.didChange(.truncate, open.path)
    return 0
  }

  package func allocate(_ descriptor: Int32, _ length: off_t) -> Int32 {
    guard let open = opened(descriptor) else { return fail(EBADF) }
    guard length - open.node.bytes.count <= availableBytes else { return fail(ENOSPC) }
    return length > open.node.bytes.count ? ftruncate(descriptor, length) : 0
  }

  /// This guarantees nothing.
  ///
  /// A power failure chooses what has reached the disk.
  package func beginWritingBack(_ descriptor: Int32) {}

  // MARK: Attributes

  package func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 {
    guard begin(.chmod, opened(descriptor)?.path ?? "?") else { return -1 }
    guard let open = opened(descriptor) else { return fail(EBADF) }
    open.node.mode = mode
    open.node.changed = now
    open.node.pending.append(.mode(mode))
    return 0
  }

  package func fchmodat(_ folder: Int32, _ name: String, _ mode: mode_t) -> Int32 {
    guard begin(.chmod, path(folder, name)) else { return -1 }
    guard let parent = self.folder(folder) else { return fail(EBADF) }
    guard let node = parent.names[name] else { return fail(ENOENT) }
    node.mode = mode
    node.changed = now
    node.pending.append(.mode(mode))
    return 0
  }

  package func setModified(_ descriptor: Int32, _ time: timespec) -> Int32 {
    guard let node = opened(descriptor)?.node else { return fail(EBADF) }
    node.modified = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    node.changed = now
    return 0
  }

  package func touch(_ descriptor: Int32) -> Int32 {
    opened(descriptor)?.node.accessed = now
    return 0
  }

  package func fsetxattr(_ descriptor: Int32, _ name: String, _ text: String) -> Int32 {
    fail(ENOTSUP)
  }

  // MARK: Durability and locks

  package func fsync(_ descriptor: Int32) -> Int32 {
    guard let open = opened(descriptor) else { return fail(EBADF) }
    let isFolder = open.node.kind == .directory
    let call: DiskCall = isFolder ? .syncFolder : .syncFile
    guard begin(call, open.path) else {
      if !isFolder, errno == EIO { lose([open.node]) }
      return -1
    }
    guard !ignoresSyncs.contains(call) else { return 0 }
    if isFolder {
      syncNames(of: open.node)
    } else {
      open.node.syncData()
    }
    return 0
  }

  package func fdatasync(_ descriptor: Int32) -> Int32 { fsync(descriptor) }

  package func syncfs(_ descriptor: Int32) -> Int32 {
    guard begin(.syncfs, opened(descriptor)?.path ?? "?") else {
      if errno == EIO {
        lose(dirtyFiles)
        _ = tellsFailure(on: descriptor)
      }
      director?.didFailToSync()
      return -1
    }
    if tellsFailure(on: descriptor) {
      director?.didFailToSync()
      return fail(EIO)
    }
    guard !ignoresSyncs.contains(.syncfs) else { return 0 }
    syncEverything()
    director?.didChange(.syncfs, opened(descriptor)?.path ?? "?")
    return 0
  }

  /// Loses pages of some of `files`.
  ///
  /// They count as clean from now on.
  private func lose(_ files: [DiskNode]) {
    let number = errno
    for file in files where director?.losesPages() == true {
      file.loseData()
      noteFailure()
    }
    errno = number
  }

  package func lock(_ descriptor: Int32, _ operation: Int32) -> Int32 {
    guard begin(.flock, opened(descriptor)?.path ?? "?") else { return -1 }
    guard let open = opened(descriptor) else { return fail(EBADF) }
    if operation & LOCK_UN != 0 {
      open.node.locks[descriptor] = nil
      return 0
    }
    let isAlone = operation & LOCK_EX != 0
    let others = open.node.locks.filter { $0.key != descriptor }
    if isAlone ? !others.isEmpty : others.values.contains(true) { return fail(EWOULDBLOCK) }
    open.node.locks[descriptor] = isAlone
    return 0
  }
}

/// A file system without permissions, times of creation, known holes and copy-on-write.
extension SimulatedDisk {
  package func checkWritable(_ folder: Int32, _ name: String) -> Int32 { 0 }

  package func birthTime(_ folder: Int32, _ name: UnsafePointer<CChar>) -> Int64 { 0 }

  package func seekData(_ descriptor: Int32, _ offset: off_t) -> off_t { off_t(fail(EOPNOTSUPP)) }

  package func seekHole(_ descriptor: Int32, _ offset: off_t) -> off_t { off_t(fail(EOPNOTSUPP)) }

  package func avoidCopyOnWrite(_ descriptor: Int32) -> Int32 { fail(EOPNOTSUPP) }
}
