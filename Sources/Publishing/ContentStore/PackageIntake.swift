import ContentModel
import ContentPackage
import ContentTrust
import Digests
import FileIO

/// A package that is good to be published, with what was found in it.
struct IncomingPackage {
  /// The path that was given, for messages.
  let path: String
  /// The path of the bytes that are published: `path`, or of what it was converted to.
  let location: String
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
  /// Where packages in other forms are converted; nil if they are published as they are.
  let conversionFolder: Directory?

  /// The packages at `paths`, the same one once; throws an error that names every bad package with
  /// all its findings.
  func packages(at paths: [String]) throws -> [IncomingPackage] {
    var accepted: [IncomingPackage] = []
    var refusals: [(path: String, error: ContentError)] = []
    for (number, path) in paths.enumerated() {
      do {
        let (package, findings) = try incoming(path, number)
        refusals += findings.map { (path, $0.error(in: path)) }
        guard var package else { continue }
        try checkContentIdentifier(package, accepted)
        package.isPublished = try isPublished(package)
        if try !isTwin(package, of: accepted) { accepted.append(package) }
      } catch let error as ContentError {
        refusals.append((path, error.about(path)))
      }
    }
    let remedy = "Publish all of them again when these packages are corrected"
    if let error = ContentError.combined(refusals, "Nothing is published", remedy: remedy) {
      throw error
    }
    return accepted
  }

  /// The package at `path`, converted if that is wanted and it has no members; and all findings.
  private func incoming(_ path: String, _ number: Int) throws -> (IncomingPackage?, [Finding]) {
    let source = try FileByteSource(fileSystem.file(at: path))
    // First, so that a change while it is examined is noticed when it is copied.
    let digest = try source.digest()
    let examination = try examinePackage(source, name: path)
    var findings = examination.findings
    if conversionFolder == nil, let finding = packageNameFinding(path.lastPathComponent) {
      findings.insert(finding, at: 0)
    }
    guard let conversionFolder, findings.isEmpty,
      try PackageIndex(indexing: source, entries: examination.entries).payload == nil
    else { return (package(path, at: path, digest, examination), findings) }
    let name = "\(number).pkg"
    let converted = try convertPackage(
      source, name: path, output: conversionFolder, outputName: name)
    let convertedDigest = try FileByteSource(conversionFolder.file(name)).digest()
    return (package(path, at: conversionFolder.path(of: name), convertedDigest, converted), [])
  }

  /// The package that was found; nil if it breaks a rule.
  private func package(
    _ path: String, at location: String, _ digest: Digest, _ examination: PackageExamination
  ) -> IncomingPackage? {
    guard examination.isValid, let info = examination.info else { return nil }
    let custom = ContentCustom(
      productIdentifier: info.productIdentifier, contentIdentifier: info.contentIdentifier,
      version: info.version,
      installedSize: examination.installedSize)
    return IncomingPackage(
      path: path, location: location, length: examination.packedLength, digest: digest,
      entries: examination.entries, custom: custom)
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

  /// Refuses packages that cannot fit into the store, before anything is written.
  func requireSpace(_ packages: [IncomingPackage], in store: Directory) throws {
    let available = try store.availableBytes()
    // Indexes and metadata need some room too.
    let needed = packages.reduce(4 << 20) { $0 + $1.length }
    guard !packages.isEmpty, available < needed else { return }
    throw ContentError(
      .diskFull,
      "The packages need \(needed) bytes in \(store.path), where \(available) are free",
      remedy: "Free \(needed - available) bytes there and start again", subject: store.path)
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

extension ProductRecord {
  /// Refuses a product of a type that has no content.
  func checkHosting() throws {
    guard type == .nonConsumable else {
      throw ContentError(
        .usage, "\(productIdentifier) is \(type.rawValue) and cannot have content",
        remedy: "Only non-consumable products have hosted content; leave the type out",
        subject: productIdentifier.rawValue)
    }
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
