import ContentModel
import ContentPackage
import ContentTrust
import Digests
import FileIO

/// Writes files to a store's `targets` folder.
///
/// Each method is durable on return. File names contain the digest. Files of the current catalog
/// are therefore never changed, and after a crash the next attempt writes the same files again.
struct TargetWriter {
  private let folder: Directory
  private let served: ServedFolder

  /// Creates a writer for `folder`, the store's `targets`.
  init(_ folder: Directory) {
    self.folder = folder
    served = ServedFolder(folder)
  }

  // MARK: Existing files

  /// Whether the archive and the index of `offer` exist, byte for byte.
  func has(_ offer: ContentOffer) throws -> Bool {
    try [offer.package, offer.index].allSatisfy {
      // The path is below the store.
      try has($0.path.pathComponents().dropFirst(), length: $0.length, $0.digest)
    }
  }

  /// Whether the file of the entry `name` exists, byte for byte.
  func hasEntry(_ name: ProductIdentifier, _ file: TargetFile) throws -> Bool {
    guard let digest = file.digest else { return false }
    return try has(
      [name.rawValue, StorePath.fileName(.record, digest)], length: file.length, digest)
  }

  private func has(_ path: some BidirectionalCollection<String>, length: Int64, _ digest: Digest)
    throws -> Bool
  {
    do {
      let file = try folder.directory(at: Array(path.dropLast())).file(path.last ?? "")
      let source = try FileByteSource(file)
      return try source.length == length && source.digest() == digest
    } catch let error as ContentError where error.code == .fileMissing {
      return false
    }
  }

  // MARK: Writing

  /// Writes the archive and its index, and returns the offer.
  func write(_ package: IncomingPackage) throws -> ContentOffer {
    let info = package.info
    let path = StorePath.folder(info.product, info.content, info.version)
    let folder = try path.reduce(self.folder) { try made($1, in: $0) }
    let source = try FileByteSource(folder.fileSystem.file(at: package.location))
    let index = try indexBytes(of: package, source)
    try copy(source, of: package, to: folder)
    let digest = try Digest(of: index)
    try served.replaceFile(StorePath.fileName(.index, digest), in: folder) { try $0.write(index) }
    func file(_ kind: StorePath.Kind, _ length: Int64, _ digest: Digest) -> SignedFile {
      let components = [StorePath.folder] + path + [StorePath.fileName(kind, digest)]
      return SignedFile(
        path: components.joined(separator: "/"), length: length, digest: digest)
    }
    return ContentOffer(
      productIdentifier: info.product, contentIdentifier: info.content, version: info.version,
      installedSize: info.installedSize,
      package: file(.package, package.length, package.digest),
      index: file(.index, Int64(index.count), digest))
  }

  /// Writes the file of the entry `name`.
  func writeEntry(_ name: ProductIdentifier, _ bytes: [UInt8]) throws {
    try served.replaceFile(
      StorePath.fileName(.record, Digest(of: bytes)), in: made(name.rawValue, in: folder)
    ) { try $0.write(bytes) }
  }

  /// Returns the folder `name`.
  ///
  /// Its name is durable.
  private func made(_ name: String, in parent: Directory) throws -> Directory {
    let made = try parent.createServedDirectory(name)
    // Even if it exists: a crash may have interrupted its creation before the sync.
    try parent.sync()
    return made
  }

  private func indexBytes(of package: IncomingPackage, _ source: FileByteSource) throws -> [UInt8] {
    let index = try PackageIndex(indexing: source, entries: package.entries)
    let text = index.encoded
    guard Int64(text.count) <= PackageIndex.maximumLength else {
      throw ContentError(
        .limitExceeded,
        "The index of \(package.path) would have \(text.count) bytes, more than "
          + "the maximum of \(PackageIndex.maximumLength)",
        remedy: "Put fewer files into the package", subject: package.path)
    }
    return text
  }

  private func copy(
    _ source: FileByteSource, of package: IncomingPackage, to folder: Directory
  ) throws {
    try served.replaceFile(StorePath.fileName(.package, package.digest), in: folder) { file in
      var stream = DigestStream()
      try source.forEachBlock {
        try stream.update($0)
        try file.write($0)
      }
      guard try stream.finish() == package.digest else {
        throw ContentError(
          .fileFailed, "\(package.path) changed while it was published",
          remedy: "Make sure that no other program writes the package, and try again",
          subject: package.path)
      }
    }
  }
}
