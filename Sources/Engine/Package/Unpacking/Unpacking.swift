package import HostedModel
package import HostedFileIO

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
