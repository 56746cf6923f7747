import ContentModel
import ContentPackage
import ContentTrust
import Digests
import FileIO

/// A valid package and its contents.
struct IncomingPackage {
  /// The path from the caller, for messages.
  let path: String
  /// The path of the published bytes: `path` or the converted file.
  let location: String
  /// The length in bytes.
  let length: Int64
  /// SHA-256 of all bytes.
  let digest: Digest
  /// The files in the package.
  let entries: [IndexedFile]
  let custom: ContentCustom
  /// Whether the catalog already lists exactly these bytes.
  fileprivate(set) var isPublished = false

  /// The archive's entry in the targets metadata.
  var target: TargetFile {
    TargetFile(length: length, digest: digest, custom: custom.json)
  }
}

/// Checks packages before anything is written.
///
/// One invalid package refuses all.
struct PackageIntake {
  let fileSystem: FileSystem
  let listing: StoreListing
  let retired: RetiredVersions
  /// The folder for packages that are converted; nil if packages are published unchanged.
  let conversionFolder: Directory?

  /// Returns the packages at `paths`, without duplicates.
  ///
  /// Throws an error that names every invalid package with all its findings.
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
        if try !isDuplicate(package, of: accepted) { accepted.append(package) }
      } catch let error as ContentError {
        refusals.append((path, error.about(path)))
      }
    }
    let remedy = "Correct these packages, then publish all of them again"
    if let error = ContentError.combined(refusals, "Nothing was published", remedy: remedy) {
      throw error
    }
    return accepted
  }

  /// Returns the package at `path`, converted if requested and it has no index, and all findings.
  private func incoming(_ path: String, _ number: Int) throws -> (IncomingPackage?, [Finding]) {
    let source = try FileByteSource(fileSystem.file(at: path))
    // First, so that a change during the examination is detected when the file is copied.
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

  /// Returns the package; nil if it violates a rule.
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

  /// Throws `contentClaimed` if the content belongs to another product too.
  ///
  /// Throws `identifierInvalid` if the identifier could collide with files of the store.
  private func checkContentIdentifier(_ package: IncomingPackage, _ accepted: [IncomingPackage])
    throws
  {
    let (product, content) = (package.custom.productIdentifier, package.custom.contentIdentifier)
    if content != product, StoreTargetName.isFileName(content) {
      throw ContentError(
        .identifierInvalid,
        "\(package.path): the content identifier \(content) is reserved for store files",
        remedy: "Use another HCContentIdentifier and build the package again",
        subject: content.rawValue
      )
    }
    for name in Set([product, content]).sorted() {
      let claimant = accepted.first { other in
        other.custom.productIdentifier != product
          && [other.custom.productIdentifier, other.custom.contentIdentifier].contains(name)
      }
      if let other = listing.claimant(of: name, besides: product)
        ?? claimant?.custom.productIdentifier
      {
        throw ContentError.contentClaimed(name, by: other, in: package)
      }
    }
  }

  /// Whether the store has the same bytes.
  ///
  /// Throws `versionExists` if it has other bytes with this version, or a higher version.
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
      throw Self.versionExists(package, offer.version, "already published")
    }
    return true
  }

  /// Throws unless the version is higher than every current and earlier version of the content.
  ///
  /// Users with a higher version would never be offered this version.
  private func checkRise(_ package: IncomingPackage, _ offers: [ContentOffer]) throws {
    let (content, version) = (package.custom.contentIdentifier, package.custom.version)
    let known = offers.filter { $0.contentIdentifier == content }.map(\.version)
    let highest = (known + [retired.highest(of: content)].compactMap { $0 }).max()
    guard let highest, version <= highest else { return }
    throw ContentError(
      .versionExists,
      "\(package.path): version \(version) of \(content) is not higher than \(highest), which the "
        + (known.contains(highest) ? "store has" : "store had"),
      remedy: "Increase ContentVersion and build the package again",
      subject: package.custom.productIdentifier.rawValue)
  }

  /// Whether `accepted` has the same bytes.
  ///
  /// Throws `versionExists` for other bytes with this version.
  private func isDuplicate(_ package: IncomingPackage, of accepted: [IncomingPackage]) throws
    -> Bool
  {
    let sameVersion = accepted.first {
      $0.custom.contentIdentifier == package.custom.contentIdentifier
        && $0.custom.version == package.custom.version
    }
    guard let sameVersion else { return false }
    guard sameVersion.digest == package.digest else {
      throw Self.versionExists(
        package, sameVersion.custom.version, "given twice, also as \(sameVersion.path)")
    }
    return true
  }

  /// Throws `diskFull` if the packages do not fit, before anything is written.
  func requireSpace(_ packages: [IncomingPackage], in store: Directory) throws {
    let available = try store.availableBytes()
    // Indexes and metadata need some space too.
    let needed = packages.reduce(4 << 20) { $0 + $1.length }
    guard !packages.isEmpty, available < needed else { return }
    throw ContentError(
      .diskFull,
      "The packages need \(needed) bytes in \(store.path), where \(available) are free",
      remedy: "Free \(needed - available) bytes there and try again", subject: store.path)
  }

  private static func versionExists(
    _ package: IncomingPackage, _ version: ContentVersion, _ reason: String
  ) -> ContentError {
    ContentError(
      .versionExists,
      "\(package.path): version \(version) of \(package.custom.contentIdentifier) is \(reason), "
        + "with other bytes",
      remedy: "Increase ContentVersion and build the package again",
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
        + (name == other ? "has the identifier of another product" : "already belongs to \(other)"),
      remedy: "Use an HCContentIdentifier that no other product uses, and build the package again",
      subject: name.rawValue)
  }

  /// A product that has the identifier of another product's content.
  static func productClaimed(_ product: ProductIdentifier, by other: ProductIdentifier)
    -> ContentError
  {
    ContentError(
      .contentClaimed, "\(product) is the identifier of a content of \(other)",
      remedy: "Use another product identifier", subject: product.rawValue)
  }

  func naming(_ path: String) -> ContentError {
    ContentError(code, "\(path): \(message)", remedy: remedy, subject: subject, cause: cause)
  }
}

extension ProductRecord {
  /// Throws `usage` for a product of a type without content.
  func checkHosting() throws {
    guard type == .nonConsumable else {
      throw ContentError(
        .usage, "\(productIdentifier) is \(type.rawValue) and cannot have content",
        remedy: "Only non-consumable products have hosted content. Omit the type",
        subject: productIdentifier.rawValue)
    }
  }
}

extension ByteSource {
  /// Calls `body` with all bytes, in order, in blocks of up to 1 MiB.
  ///
  /// Throws `fileFailed` if the source ends early.
  func forEachBlock(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let wanted = Int(min(Int64(buffer.count), length - offset))
      let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
      guard try read(into: block, at: offset) == wanted else {
        throw ContentError(
          .fileFailed, "The package became shorter than \(length) bytes while it was read",
          remedy: "Make sure that no other program writes the package, and try again")
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
