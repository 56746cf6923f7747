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
  /// Whether the catalog promises these very bytes already.
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
  let retired: RetiredVersions

  /// The packages at `paths`, the same one once; throws an error that names every bad package with
  /// all its findings.
  func packages(at paths: [String]) throws -> [IncomingPackage] {
    var accepted: [IncomingPackage] = []
    var refusals: [(path: String, error: ContentError)] = []
    for path in paths {
      let name = path.lastPathComponent
      do {
        let (package, findings) = try examine(path, name)
        refusals += findings.map { (path, $0.error(in: path)) }
        guard var package else { continue }
        try checkContentIdentifier(package, accepted)
        package.isPublished = try isPublished(package)
        if try !isTwin(package, of: accepted) { accepted.append(package) }
      } catch let error as ContentError {
        refusals.append((path, error.about(path)))
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
      productIdentifier: info.productIdentifier, contentIdentifier: info.contentIdentifier,
      version: info.version,
      installedSize: examination.installedSize)
    return (
      IncomingPackage(
        path: path, length: source.length, digest: digest, entries: examination.entries,
        custom: custom),
      []
    )
  }

  /// Refuses a content that is not this product's alone: `contentClaimed`, or `identifierInvalid`
  /// when the store could not keep it.
  private func checkContentIdentifier(_ package: IncomingPackage, _ accepted: [IncomingPackage])
    throws
  {
    let (product, content) = (package.custom.productIdentifier, package.custom.contentIdentifier)
    if content != product, StoreTargetName.isFileName(content) {
      throw ContentError(
        .identifierInvalid,
        "\(package.path): a content cannot be called \(content), as files of the store are",
        remedy: "Give it another HCContentIdentifier, and build it again", subject: content.rawValue
      )
    }
    for name in Set([product, content]).sorted() {
      let twin = accepted.first { other in
        other.custom.productIdentifier != product
          && [other.custom.productIdentifier, other.custom.contentIdentifier].contains(name)
      }
      if let other = listing.claimant(of: name, besides: product) ?? twin?.custom.productIdentifier
      {
        throw ContentError.contentClaimed(name, by: other, in: package)
      }
    }
  }

  /// Whether the store has the same bytes; `versionExists` when it has others of that number, or
  /// a higher version.
  private func isPublished(_ package: IncomingPackage) throws -> Bool {
    let offers = listing.products[package.custom.productIdentifier]?.offers ?? []
    let published = offers.first {
      $0.contentIdentifier == package.custom.contentIdentifier
        && $0.version == package.custom.version
    }
    guard let offer = published else {
      try checkRise(package, offers)
      return false
    }
    guard offer.package.digest == package.digest else {
      throw Self.versionExists(package, offer.version, "published already")
    }
    return true
  }

  /// Refuses a version that is not higher than every one that the content has, or had.
  ///
  /// Whoever installed the higher one would never be offered this one.
  private func checkRise(_ package: IncomingPackage, _ offers: [ContentOffer]) throws {
    let (content, version) = (package.custom.contentIdentifier, package.custom.version)
    let known = offers.filter { $0.contentIdentifier == content }.map(\.version)
    let highest = (known + [retired.highest(of: content)].compactMap { $0 }).max()
    guard let highest, version <= highest else { return }
    throw ContentError(
      .versionExists,
      "\(package.path): version \(version) of \(content) is not higher than \(highest), which the "
        + (known.contains(highest) ? "store has" : "store had"),
      remedy: "Raise ContentVersion and build the package again",
      subject: package.custom.productIdentifier.rawValue)
  }

  /// Whether the same bytes came before; `versionExists` when others of that number did.
  private func isTwin(_ package: IncomingPackage, of accepted: [IncomingPackage]) throws -> Bool {
    let twin = accepted.first {
      $0.custom.contentIdentifier == package.custom.contentIdentifier
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
      "\(package.path): version \(version) of \(package.custom.contentIdentifier) is \(reason), "
        + "with other bytes",
      remedy: "Raise ContentVersion and build the package again",
      subject: package.custom.productIdentifier.rawValue)
  }

  /// One error that has every package with its findings, each with its remedy; nil for none.
  private static func combined(_ refusals: [(path: String, error: ContentError)]) -> ContentError? {
    guard let first = refusals.first?.error, refusals.count > 1 else {
      return refusals.first?.error
    }
    var paths: [String] = []
    for refusal in refusals where !paths.contains(refusal.path) { paths.append(refusal.path) }
    let packages = paths.map { path in
      let prefix = "\(path): "
      let findings = refusals.filter { $0.path == path }.map { _, error in
        let message =
          error.message.hasPrefix(prefix)
          ? String(error.message.dropFirst(prefix.count)) : error.message
        let cause = error.cause.map { " (\($0))" } ?? ""
        return "\(message)\(cause). \(error.remedy)"
      }
      return prefix + findings.joined(separator: ". ")
    }
    return ContentError(
      first.code, "Nothing is published: " + packages.joined(separator: "; "),
      remedy: "Publish all of them again when these packages are corrected", subject: first.subject)
  }
}

extension ContentError {
  fileprivate static func contentClaimed(
    _ name: ProductIdentifier, by other: ProductIdentifier, in package: IncomingPackage
  ) -> ContentError {
    let product = package.custom.productIdentifier
    if name == product {
      return .productClaimed(product, by: other).naming(package.path)
    }
    return ContentError(
      .contentClaimed,
      "\(package.path): the content \(name) of \(product) "
        + (name == other ? "is called like another product" : "belongs to \(other) already"),
      remedy: "Give it a HCContentIdentifier that no other product has, and build it again",
      subject: name.rawValue)
  }

  /// A product that is called like another product's content.
  static func productClaimed(_ product: ProductIdentifier, by other: ProductIdentifier)
    -> ContentError
  {
    ContentError(
      .contentClaimed, "\(product) is the name of a content of \(other)",
      remedy: "Give the product another identifier", subject: product.rawValue)
  }

  func naming(_ path: String) -> ContentError {
    ContentError(code, "\(path): \(message)", remedy: remedy, subject: subject, cause: cause)
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
