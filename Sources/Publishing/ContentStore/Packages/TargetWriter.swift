import HostedModel
import HostedPackage
import HostedTrust
import HostedDigests
import HostedFileIO

/// Writes files to a store's `targets` folder.
///
/// Each method is durable on return. File names contain the digest. Files of the current catalog
/// are therefore never changed, and after a crash the next attempt writes the same files again.
struct TargetWriter {
  let store: Directory
  /// Collects the files instead of writing them; nil for a store that is really changed.
  let rehearsal: RehearsalRecorder?

  // MARK: Existing files

  /// Whether the archive and the index of `offer` exist, byte for byte.
  func has(_ offer: ContentOffer) throws -> Bool {
    try [offer.package, offer.index].allSatisfy {
      try has($0.path.pathComponents(), length: $0.length, $0.digest)
    }
  }

  /// Whether the file of the target `name` exists, byte for byte.
  func hasTarget(_ name: String, _ file: TargetFile) throws -> Bool {
    guard let digest = file.digest else { return false }
    return try has(
      [StorePath.folder] + Self.path(of: name, file), length: file.length, digest)
  }

  private static func path(of name: String, _ file: TargetFile) -> [String] {
    (TrustedTargets.paths(of: name, file, consistent: true).first ?? name).pathComponents()
  }

  private func has(_ path: [String], length: Int64, _ digest: Digest) throws -> Bool {
    try nilIf(.fileMissing) {
      let file = try store.directory(at: path.dropLast()).file(path.last ?? "")
      let source = try FileByteSource(file)
      return try source.length == length && source.digest() == digest
    } ?? false
  }

  // MARK: Writing

  /// Publishes the archive and its index, and returns the offer.
  func write(_ package: IncomingPackage) throws -> ContentOffer {
    let (info, examination, index) = (package.info, package.examination, package.index)
    let folder = try made(
      StorePath.folder(info.productIdentifier, info.contentIdentifier, info.version))
    let indexBytes = index.encoded
    guard Int64(indexBytes.count) <= PackageIndex.maximumLength else {
      throw ContentError(
        .limitExceeded,
        "The index of \(package.path) would have \(indexBytes.count) bytes, more than "
          + "the maximum of \(PackageIndex.maximumLength)",
        remedy: "Put fewer files into the package", subject: package.path)
    }
    try move(package, to: folder)
    let digest = try Digest(of: indexBytes)
    try replaceFile(
      StorePath.fileName(.index, digest), .index, in: folder, length: Int64(indexBytes.count)
    ) { try $0.write(indexBytes) }
    rehearsal?.add(index, of: package.digest)
    func file(_ kind: StorePath.Kind, _ length: Int64, _ digest: Digest) -> SignedFile {
      let components = [StorePath.folder] + folder.path + [StorePath.fileName(kind, digest)]
      return SignedFile(
        path: components.joined(separator: "/"), length: length, digest: digest)
    }
    return ContentOffer(
      productIdentifier: info.productIdentifier, contentIdentifier: info.contentIdentifier,
      version: info.version, installedSize: examination.installedSize,
      package: file(.package, examination.packedLength, package.digest),
      index: file(.index, Int64(indexBytes.count), digest))
  }

  func writeTarget(_ name: String, _ file: TargetFile, _ bytes: [UInt8]) throws {
    let path = Self.path(of: name, file)
    let place = try made(Array(path.dropLast()))
    try replaceFile(path.last ?? "", .record, in: place, length: file.length) {
      try $0.write(bytes)
    }
  }

  /// A folder below `targets`; nil in a rehearsal.
  private typealias Place = (path: [String], folder: Directory?)

  /// Creates the folder at `path` below `targets`; its name is durable.
  private func made(_ path: [String]) throws -> Place {
    guard rehearsal == nil else { return (path, nil) }
    let folder = try path.reduce(store.directory(StorePath.folder)) { parent, name in
      let made = try parent.createServedDirectory(name)
      // Even if it exists: a crash may have interrupted its creation before the sync.
      try parent.sync()
      return made
    }
    return (path, folder)
  }

  private func replaceFile(
    _ name: String, _ kind: StoreRehearsal.File.Kind, in place: Place, length: Int64,
    _ write: (borrowing File) throws -> Void
  ) throws {
    if let rehearsal {
      let path = [StorePath.folder] + place.path
      return try rehearsal.write(kind, name, in: path, of: store, bytes: length)
    }
    try store.directory(StorePath.folder).replaceServedFile(name, in: place.folder, write)
  }

  /// Moves the examined copy of a package to its place, so that exactly its bytes are published.
  private func move(_ package: IncomingPackage, to place: Place) throws {
    let name = StorePath.fileName(.package, package.digest)
    if let rehearsal {
      return try rehearsal.write(
        .archive, name, in: [StorePath.folder] + place.path, of: store,
        bytes: package.examination.packedLength)
    }
    guard let copy = package.copy, let folder = place.folder else {
      throw ContentError(
        .inconsistent, "\(package.path) was not copied to the store", remedy: "Report a bug")
    }
    try copy.folder.moveServedFile(copy.name, to: folder, name)
  }
}
