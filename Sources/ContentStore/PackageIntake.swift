import ContentModel
import ContentPackage
import ContentTrust
import Digests
import FileIO

/// A package that is good to be published, with what was found in it.
struct IncomingPackage {
  let path: String
  /// Bytes.
  let length: Int64
  /// SHA-256 of all bytes.
  let digest: Digest
  /// The files inside.
  let entries: [IndexedFile]
  let custom: ContentCustom
  /// Whether the store has these very bytes already.
  fileprivate(set) var isPublished = false

  /// The archive as targets metadata promises it.
  var target: TargetFile {
    TargetFile(length: length, digest: digest, custom: custom.json)
  }
}

/// Judges packages before anything is written; one bad package refuses all.
struct PackageIntake {
  let fileSystem: FileSystem
  let listing: StoreListing

  /// The packages at `paths`, the same one once; throws an error that names every bad package with
  /// all its findings.
  func packages(at paths: [String]) throws -> [IncomingPackage] {
    var accepted: [IncomingPackage] = []
    var refusals: [ContentError] = []
    for path in paths {
      let name = String(path.split(separator: "/").last ?? "")
      do {
        let (package, findings) = try examine(path, name)
        refusals += findings.map { $0.error(in: path) }
        guard var package else { continue }
        package.isPublished = try isPublished(package)
        if try !isTwin(package, of: accepted) { accepted.append(package) }
      } catch let error as ContentError {
        refusals.append(error.about(path))
      }
    }
    if let error = Self.combined(refusals) { throw error }
    return accepted
  }

  private func examine(_ path: String, _ name: String) throws -> (IncomingPackage?, [Finding]) {
    let nameFinding = packageNameFinding(name)
    let source = try FileByteSource(fileSystem.file(at: path))
    let digest = try source.digest()
    let examination = try examinePackage(source, name: path)
    let findings = (nameFinding.map { [$0] } ?? []) + examination.findings
    guard findings.isEmpty, let info = examination.info else { return (nil, findings) }
    let custom = ContentCustom(
      productIdentifier: info.productIdentifier, version: info.version,
      installedSize: examination.installedSize)
    return (
      IncomingPackage(
        path: path, length: source.length, digest: digest, entries: examination.entries,
        custom: custom),
      []
    )
  }

  /// Whether the store has the same bytes; `versionExists` when it has others of that number.
  private func isPublished(_ package: IncomingPackage) throws -> Bool {
    let offers = listing.products[package.custom.productIdentifier]?.offers ?? []
    guard let offer = offers.first(where: { $0.version == package.custom.version }) else {
      return false
    }
    guard offer.package.digest == package.digest else {
      throw Self.versionExists(package, offer.version, "published already")
    }
    return true
  }

  /// Whether the same bytes came before; `versionExists` when others of that number did.
  private func isTwin(_ package: IncomingPackage, of accepted: [IncomingPackage]) throws -> Bool {
    let twin = accepted.first {
      $0.custom.productIdentifier == package.custom.productIdentifier
        && $0.custom.version == package.custom.version
    }
    guard let twin else { return false }
    guard twin.digest == package.digest else {
      throw Self.versionExists(package, twin.custom.version, "given twice, as \(twin.path) too")
    }
    return true
  }

  private static func versionExists(
    _ package: IncomingPackage, _ version: ContentVersion, _ reason: String
  ) -> ContentError {
    ContentError(
      .versionExists,
      "\(package.path): version \(version) of \(package.custom.productIdentifier) is \(reason), "
        + "with other bytes",
      remedy: "Raise ContentVersion and build the package again",
      subject: package.custom.productIdentifier.rawValue)
  }

  /// One error that says all of them; nil for none.
  private static func combined(_ refusals: [ContentError]) -> ContentError? {
    guard let first = refusals.first, refusals.count > 1 else { return refusals.first }
    let messages = refusals.map { error in
      error.cause.map { "\(error.message) (\($0))" } ?? error.message
    }
    var remedies: [String] = []
    for refusal in refusals where !remedies.contains(refusal.remedy) {
      remedies.append(refusal.remedy)
    }
    return ContentError(
      first.code, "Nothing is published: " + messages.joined(separator: "; "),
      remedy: remedies.joined(separator: "; "), subject: first.subject)
  }
}

extension ByteSource {
  /// Hands all bytes to `body`, in order, up to 1 MiB at a time; `fileFailed` when the source ends
  /// early.
  func forEachBlock(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let wanted = Int(min(Int64(buffer.count), length - offset))
      let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
      guard try read(into: block, at: offset) == wanted else {
        throw ContentError(
          .fileFailed, "The package became shorter than its \(length) bytes while it was read",
          remedy: "Let no other program write the package, and start again")
      }
      try body(UnsafeRawBufferPointer(block))
      offset += Int64(wanted)
    }
  }

  /// The SHA-256 of all bytes.
  func digest() throws -> Digest {
    var stream = DigestStream()
    try forEachBlock { try stream.update($0) }
    return try stream.finish()
  }
}
