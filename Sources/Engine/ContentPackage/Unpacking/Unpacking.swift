package import ContentModel
package import FileIO

/// Unpacks a content package into `folder`, which should be empty; throws at the first refusal.
///
/// `name` is what messages call the package. Content rules are on, and with a promise the content
/// must be exactly what was promised; each difference is `wrongProduct`, `wrongVersion` or
/// `indexMismatch`. Files get mode 0444 and folders 0755 (less the process's umask). `progress` is
/// told the plain bytes written so far, after each piece; what it throws stops the work. Nothing is
/// made durable: the caller syncs the file system once. After a throw `folder` holds what was
/// written until then, for the caller to remove.
///
/// Returns every entry by path in byte order, folders that are only implied among them.
package func unpackPackage(
  _ source: any ByteSource, name: String, into folder: Directory, promise: UnpackPromise?,
  limits: PackageLimits = .standard, progress: (_ plainBytesWritten: Int64) throws -> Void
) throws -> [InstalledFile] {
  try unpack(source, name, limits, isContent: true, folder, promise, progress)
}

/// Unpacks an archive of any content into `folder`: every rule of safety, none of content.
///
/// Neither ContentInfo.plist nor the layout is asked for, and executable code is let in (though
/// no file is made executable). Otherwise as `unpackPackage`.
package func unpackArchive(
  _ source: any ByteSource, name: String, into folder: Directory,
  limits: PackageLimits = .standard, progress: (_ plainBytesWritten: Int64) throws -> Void
) throws -> [InstalledFile] {
  try unpack(source, name, limits, isContent: false, folder, nil, progress)
}

/// Unpacks an archive that `buildPackage` will make a package of: every rule of safety and content.
///
/// ContentInfo.plist is not read, since the build can replace it. Otherwise as `unpackPackage`.
func unpackForBuild(
  _ source: any ByteSource, name: String, into folder: Directory, limits: PackageLimits
) throws -> [InstalledFile] {
  try unpack(source, name, limits, isContent: true, readsInfo: false, folder, nil) { _ in }
}

/// Unpacks into a new folder `target` of `parent`, which appears only when all is well.
///
/// Until then it has a name that no other call uses, since another may unpack beside it; after a
/// throw nothing of this call is left. `isContent` is false for an archive of any content.
/// Otherwise as `unpackPackage`.
package func unpack(
  _ source: any ByteSource, name: String, as target: String, in parent: Directory,
  isContent: Bool = true, limits: PackageLimits = .standard,
  progress: (_ plainBytesWritten: Int64) throws -> Void = { _ in }
) throws -> [InstalledFile] {
  let number = String(UInt64.random(in: .min ... .max), radix: 16)
  let temporary = ".\(target.utf8.count < 200 ? target : "").unpacking-\(number)"
  // Outside of `do`: only a folder that this call has created is removed.
  let folder = try parent.createDirectory(temporary, exclusive: true)
  do {
    let files = try unpack(source, name, limits, isContent: isContent, folder, nil, progress)
    try parent.renameWithoutReplacing(temporary, to: parent, target)
    return files
  } catch {
    // What cannot be removed now stands under a name that says what it is.
    try? parent.removeTree(temporary)
    throw error
  }
}

private func unpack(
  _ source: any ByteSource, _ name: String, _ limits: PackageLimits, isContent: Bool,
  readsInfo: Bool? = nil, _ folder: Directory, _ promise: UnpackPromise?,
  _ progress: (Int64) throws -> Void
) throws -> [InstalledFile] {
  try withoutActuallyEscaping(progress) { progress in
    let unpacker = Unpacker(
      name: name, folder: folder, readsInfo: readsInfo ?? isContent, promise: promise,
      progress: progress)
    do {
      var walk = try PackageWalk(source, limits: limits, isContent: isContent, visitor: unpacker)
      try walk.run()
      return try unpacker.finish()
    } catch let refusal as Refusal {
      throw refusal.error(in: name)
    }
  }
}

extension [IndexedFile] {
  /// Bytes that the entries take on a disk with blocks of `blockLength` bytes.
  package func spaceOnDisk(blockLength: Int64) -> Int64 {
    reduce(0) { sum, file in
      let bytes = file.kind == .directory ? blockLength : file.size
      return sum + (bytes + blockLength - 1) / blockLength * blockLength
    }
  }
}
