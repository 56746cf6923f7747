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

  /// Whether the archive and the index that `files` lists exist, byte for byte.
  func has(_ package: IncomingPackage, in files: [String: TargetFile]) throws -> Bool {
    let custom = package.custom
    let name = StoreTargetName.package(
      custom.productIdentifier, custom.contentIdentifier, custom.version)
    return try has(name, files[name]) && has(custom.index, files[custom.index])
  }

  private func has(_ name: String, _ promise: TargetFile?) throws -> Bool {
    guard let promise, let digest = promise.digest else { return false }
    var components = TrustedTargets.paths(of: name, promise, consistent: true)[0].pathComponents()
    let last = components.removeLast()
    do {
      let source = try FileByteSource(folder.directory(at: components).file(last))
      return try source.length == promise.length && source.digest() == digest
    } catch let error as ContentError where error.code == .fileMissing {
      return false
    }
  }

  // MARK: Writing

  /// Writes the archive and its index, and adds both to `files`.
  func write(_ package: IncomingPackage, into files: inout [String: TargetFile]) throws {
    let (product, version) = (package.custom.productIdentifier, package.custom.version)
    let content = package.custom.contentIdentifier
    let folder = try StoreTargetName.folder(product, content, version)
      .reduce(self.folder) { try made($1, in: $0) }
    let source = try FileByteSource(folder.fileSystem.file(at: package.location))
    let index = try indexBytes(of: package, source)
    try copy(source, of: package, to: folder)
    let digest = try Digest(of: index)
    try served.replaceFile(Self.fileName(.index, digest), in: folder) { try $0.write(index) }
    files[StoreTargetName.package(product, content, version)] = package.target
    files[StoreTargetName.index(product, content, version)] = TargetFile(
      length: Int64(index.count), digest: digest, custom: Self.custom(of: product))
  }

  /// Writes the product's record and adds it to `files`, unless it is listed and the file exists.
  func write(_ record: ProductRecord, into files: inout [String: TargetFile]) throws {
    let name = StoreTargetName.record(record.productIdentifier)
    let text = try record.json
    let digest = try Digest(of: text)
    let file = TargetFile(
      length: Int64(text.count), digest: digest,
      custom: files[name]?.custom ?? Self.custom(of: record.productIdentifier))
    guard try files[name] != file || !has(name, file) else { return }
    try served.replaceFile(
      Self.fileName(.record, digest), in: made(record.productIdentifier.rawValue, in: folder)
    ) { try $0.write(text) }
    files[name] = file
  }

  private static func fileName(_ kind: StoreTargetName.Kind, _ digest: Digest) -> String {
    "\(digest.hex).\(kind.rawValue)"
  }

  private static func custom(of product: ProductIdentifier) -> JSONValue {
    .object(["productIdentifier": .string(product.rawValue)])
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
    try served.replaceFile(Self.fileName(.package, package.digest), in: folder) { file in
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
