package import HostedFileIO
package import HostedModel

/// Writes the entries of a walk; stops at the first difference from the expected package.
final class Unpacker {
  private let name: String
  private let expected: ExpectedPackage?
  private let expectedEntries: [String: IndexedFile]?
  // Two chains, because the targets of hard links are in other folders than the entries.
  private let chain: FolderChain
  private let linked: FolderChain
  private let progress: (Int64) throws -> Void

  private var file: File?
  private var written: Int64 = 0

  /// Writes into `folder`; `progress` gets the decompressed bytes written so far.
  init(
    name: String, folder: Directory, expected: ExpectedPackage?,
    progress: @escaping (Int64) throws -> Void
  ) {
    self.name = name
    self.expected = expected
    self.progress = progress
    expectedEntries = expected?.entries.map {
      Dictionary($0.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    }
    chain = FolderChain(folder)
    linked = FolderChain(folder)
  }

  /// Creates the entry; throws before anything is written if it is not expected.
  func begin(_ entry: CheckedEntry) throws {
    try checkExpected(entry)
    let place = try chain.parent(of: entry.path, creating: true)
    switch entry.kind {
    case .file: file = try place.folder.createFile(place.name, mode: 0o444)
    case .directory: try chain.createFolders(entry.path)
    case .link(let target): try place.folder.createLink(place.name, to: target)
    case .hardLink(let path):
      let source = try linked.parent(of: path)
      try source.folder.hardLink(source.name, to: place.folder, place.name)
    }
  }

  func add(_ bytes: UnsafeRawBufferPointer) throws {
    try file?.write(bytes)
    written += Int64(bytes.count)
    try progress(written)
  }

  /// Ends the current entry, whose content is `made`; `info` is nil until it was read.
  func end(_ entry: CheckedEntry, _ made: IndexedFile, _ info: ContentInfo?) throws {
    file = nil
    if let expected, let info { try expected.check(info, in: name) }
    guard expectedEntries != nil else { return }
    let known = expectedEntry(at: entry.path)
    guard known == made, (known?.target).hasSameBytes(as: made.target) else {
      throw ContentError.differs(entry.path, in: name)
    }
  }

  /// Returns the files that were written as `entries`; throws if an expected entry is missing.
  func finish(_ entries: [IndexedFile]) throws -> [InstalledFile] {
    if let wanted = expected?.entries, wanted.count != entries.count {
      let found = Set(entries.map(\.path))
      let missing = wanted.first { !found.contains($0.path) }
      throw ContentError.differs(
        missing?.path ?? "an entry", "is missing, but listed in", in: name)
    }
    // Only now, since each hard link changes the inode, and therefore the identity.
    return try entries.map { entry in
      let identity = try entry.kind == .file ? chain.status(of: entry.path)?.identity : nil
      return InstalledFile(entry: entry, identity: identity)
    }
  }

  // MARK: The expected package

  /// Returns the expected entry whose path has these bytes.
  ///
  /// Strings, and thus keys, are also equal in another Unicode form.
  private func expectedEntry(at path: String) -> IndexedFile? {
    expectedEntries?[path].flatMap { $0.path.hasSameBytes(as: path) ? $0 : nil }
  }

  private func checkExpected(_ entry: CheckedEntry) throws {
    guard expectedEntries != nil else { return }
    for folder in entry.impliedFolders where expectedEntry(at: folder)?.kind != .directory {
      throw ContentError.differs(folder, "is not in", in: name)
    }
    guard let known = expectedEntry(at: entry.path) else {
      throw ContentError.differs(entry.path, "is not in", in: name)
    }
    // ContentInfo.plist is read first, since its errors are more specific.
    if entry.path == ContentInfo.fileName { return }
    guard known.kind == entry.kind.indexed else { throw ContentError.differs(entry.path, in: name) }
    if case .file = entry.kind, let size = entry.size, size != known.size {
      throw ContentError.differs(entry.path, in: name)
    }
  }
}

/// Unpacks a content package into `folder`, which should be empty.
///
/// Throws at the first finding. Messages use `name` for the package. The rules of content apply.
/// The content must match `expected` exactly, unless nil; a difference is `wrongProduct`,
/// `wrongVersion` or `indexMismatch`. Files get mode 0444 and folders 0755, minus the umask.
/// `progress` gets the decompressed bytes written so far, after each write; an error that it throws
/// ends the work. Nothing is durable until the caller syncs the file system. After an error, the
/// caller has to remove what `folder` contains. Returns all entries, sorted by the bytes of their
/// paths, including implied folders.
///
/// Unless `isContent`, only the rules of safety apply, not those of content. Unless `readsInfo`,
/// ContentInfo.plist may be missing or invalid.
package func unpackPackage(
  _ source: any ByteSource, name: String, into folder: Directory, expected: ExpectedPackage?,
  limits: PackageLimits = .standard, isContent: Bool = true, readsInfo: Bool = true,
  progress: (_ plainBytesWritten: Int64) throws -> Void
) throws -> [InstalledFile] {
  try withoutActuallyEscaping(progress) { progress in
    let unpacker = Unpacker(name: name, folder: folder, expected: expected, progress: progress)
    do {
      let walk = try PackageWalk(
        source, limits: limits, isContent: isContent, readsInfo: readsInfo)
      try walk.run(unpacker) { throw $0 }
      return try unpacker.finish(walk.entries)
    } catch let finding as Finding {
      throw finding.error(in: name)
    }
  }
}

/// Unpacks into a new folder `target` of `parent`, which appears only on success.
///
/// Until then, the folder has a unique temporary name, since other calls may unpack at the same
/// time. After an error, the temporary folder is removed. Everything else is as in `unpackPackage`.
///
/// `isContent` is false for an archive of any content: only the rules of safety apply, and
/// ContentInfo.plist and the layout are not checked. Executable code is allowed, but files do not
/// get the execute permission.
package func unpack(
  _ source: any ByteSource, name: String, as target: String, in parent: Directory,
  isContent: Bool = true, limits: PackageLimits = .standard,
  progress: (_ plainBytesWritten: Int64) throws -> Void = { _ in }
) throws -> [InstalledFile] {
  // If the folder cannot be removed, its name shows what it is.
  let prefix = ".\(target.utf8.count < 200 ? target : "").unpacking"
  return try parent.withTemporaryDirectory(prefix, mode: 0o755) { folder in
    let files = try unpackPackage(
      source, name: name, into: folder, expected: nil, limits: limits, isContent: isContent,
      readsInfo: isContent, progress: progress)
    try parent.renameWithoutReplacing(folder.path.lastPathComponent, to: parent, target)
    return files
  }
}

extension [IndexedFile] {
  /// Returns the disk space of the entries, in bytes, for blocks of `blockLength` bytes.
  package func spaceOnDisk(blockLength: Int64) -> Int64 {
    reduce(0) { sum, file in
      let bytes = file.kind == .directory ? blockLength : file.size
      return sum + (bytes + blockLength - 1) / blockLength * blockLength
    }
  }
}
