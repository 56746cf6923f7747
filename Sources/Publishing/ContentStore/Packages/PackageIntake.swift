import HostedDigests
import HostedFileIO
import HostedModel
import HostedPackage
import HostedTrust

/// A file of the folder for copies and for converted packages.
struct IntakeFile {
  let folder: Directory
  let name: String

  func source() throws -> FileByteSource { try FileByteSource(folder.file(name)) }
}

/// A valid package and its contents.
struct IncomingPackage {
  /// The path from the caller, for messages.
  let path: String
  /// The file with the examined bytes, which is published.
  ///
  /// Nil in a dry run, and if the file system was too full.
  fileprivate(set) var copy: IntakeFile?
  let digest: Digest
  let info: ContentInfo
  let examination: PackageExamination
  let index: PackageIndex
  /// The offer of the catalog with exactly these bytes; nil if the catalog has none.
  fileprivate(set) var published: ContentOffer?
  /// Whether the store already has the files of this offer.
  fileprivate(set) var isStored = false
}

/// Copies packages to the store and checks them, before anything is published.
///
/// One invalid package refuses all. Each package is read once, for its copy and its digests, and
/// its copy once, for its rules and its index. A publication then renames the copy, so that exactly
/// the checked bytes are published. A dry run reads the package twice instead.
struct PackageIntake {
  let catalog: CatalogDraft
  let targets: TargetWriter
  /// The folder for copies and for converted packages; nil if neither is needed.
  let folder: Directory?
  /// Whether packages without an index of members are converted.
  let isRepackaging: Bool

  /// The bytes that indexes and metadata of a publication may need.
  private static let reserve: Int64 = 4 << 20

  private var store: Directory { targets.store }
  private var isDryRun: Bool { targets.rehearsal != nil }

  /// Returns the packages at `paths`, without duplicates.
  ///
  /// Calls `didFind` with each finding of invalid packages, and then throws an error that names all
  /// of them.
  func packages(at paths: [String], didFind: (Finding) -> Void) throws -> [IncomingPackage] {
    var accepted: [IncomingPackage] = []
    // The product that has an identifier, and the package of a version.
    var owners: [ProductIdentifier: ProductIdentifier] = [:]
    var versions: [ContentKey: IncomingPackage] = [:]
    var refusals: [Refusal] = []
    for (number, path) in paths.enumerated() {
      do {
        let (package, found) = try incoming(path, number)
        refusals += found.map { Refusal($0, in: path) }
        guard var package else { continue }
        let (product, content) = (package.info.productIdentifier, package.info.contentIdentifier)
        let version = ContentKey(content, version: package.info.version)
        try checkContentIdentifier(package, owners)
        package.published = try publishedOffer(package)
        let isDuplicate = try isDuplicate(package, of: versions[version])
        package.isStored =
          try isDuplicate || inStore { try package.published.map(targets.has) ?? false }
        if package.isStored { try discardCopy(of: &package) }
        if isDuplicate { continue }
        owners[product] = product
        owners[content] = product
        versions[version] = package
        accepted.append(package)
      } catch let failure as StoreFailure {
        throw failure.error
      } catch let finding as Finding {
        refusals.append(Refusal(finding, in: path))
      } catch let error as ContentError where error.code != .stopped {
        refusals.append(Refusal(error, in: path))
      }
    }
    for refusal in refusals { didFind(refusal.finding) }
    let remedy = "Correct these packages, then publish all of them again"
    if let error = ContentError.combined(
      refusals.map { (path: $0.path, message: $0.finding.message, error: $0.error) },
      "Nothing was published", remedy: remedy)
    {
      throw error
    }
    return accepted
  }

  // MARK: Reading

  /// An error of the store's folder, not of a package.
  private struct StoreFailure: Error {
    let error: any Error
  }

  private func inStore<Value: ~Copyable>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw StoreFailure(error: error) }
  }

  /// Returns the package at `path`, converted if requested and it has no index, and all findings.
  ///
  /// Throws the finding about a file that is not a package.
  private func incoming(_ path: String, _ number: Int) throws -> (IncomingPackage?, [Finding]) {
    let source = try FileByteSource(store.fileSystem.file(at: path))
    var package = try read(source, path, copyingTo: "\(number).pkg")
    if !isRepackaging, let finding = packageNameFinding(path.lastPathComponent) {
      package.findings.insert(finding, at: 0)
    }
    guard let folder, isRepackaging, package.findings.isEmpty, package.value?.index.payload == nil
    else { return (package.value, package.findings) }
    let converted = IntakeFile(folder: folder, name: "\(number).converted.pkg")
    _ = try convertPackage(
      package.value?.copy?.source() ?? source, name: path, output: folder,
      outputName: converted.name)
    if var unconverted = package.value { try discardCopy(of: &unconverted) }
    package = try read(converted.source(), path, copyingTo: nil)
    package.value?.copy = converted
    return (package.value, package.findings)
  }

  /// Reads a package: first for its digests and its copy, then for its rules and its index.
  ///
  /// The copy has the name `name`. Without it, the package itself is read twice.
  private func read(_ source: FileByteSource, _ path: String, copyingTo name: String?) throws -> (
    value: IncomingPackage?, findings: [Finding]
  ) {
    let copy = try name.flatMap { name in try inStore { try file(named: name, for: source) } }
    var blocks: [Digest] = []
    let digest: Digest
    if let copy {
      let file = try inStore { try copy.folder.createFile(copy.name) }
      digest = try source.digest { block in
        try blocks.append(Digest(of: block))
        try inStore { try file.write(block) }
      }
      // The disk writes while the copy is examined.
      file.beginWritingBack()
    } else {
      digest = try source.digest { try blocks.append(Digest(of: $0)) }
    }
    let (examination, index) = try examineAndIndexPackage(
      copy?.source() ?? source, blocks: blocks)
    guard let info = examination.info, let index else { return (nil, examination.findings) }
    let package = IncomingPackage(
      path: path, copy: copy, digest: digest, info: info, examination: examination, index: index)
    return (package, examination.findings)
  }

  /// The copy to create; nil in a dry run, for a package that is too long, and without space.
  private func file(named name: String, for source: FileByteSource) throws -> IntakeFile? {
    guard let folder, !isDryRun, source.length <= PackageLimits.standard.packageLength,
      try folder.availableBytes() >= source.length + Self.reserve
    else { return nil }
    return IntakeFile(folder: folder, name: name)
  }

  private func discardCopy(of package: inout IncomingPackage) throws {
    guard let copy = package.copy else { return }
    try inStore { try copy.folder.removeFile(copy.name) }
    package.copy = nil
  }

  // MARK: The catalog

  /// Throws `contentClaimed` if the content belongs to another product, of the catalog or in
  /// `owners`.
  ///
  /// Throws `identifierInvalid` if the identifier could collide with files of the store.
  private func checkContentIdentifier(
    _ package: IncomingPackage, _ owners: [ProductIdentifier: ProductIdentifier]
  ) throws {
    let (product, content) = (package.info.productIdentifier, package.info.contentIdentifier)
    if content != product, StorePath.isFileName(content) {
      throw ContentError(
        .identifierInvalid,
        "\(package.path): the content identifier \(content) is reserved for store files",
        remedy: "Use another HCContentIdentifier and build the package again",
        subject: content.rawValue
      )
    }
    for name in Set([product, content]).sorted() {
      if let owner = try owners[name] ?? catalog.owner(of: name), owner != product {
        throw ContentError.contentClaimed(name, by: owner, in: package)
      }
    }
  }

  /// The offer of the catalog with the same bytes; nil if the version is new.
  ///
  /// Throws `versionExists` if the store has other bytes with this version, or a higher version, or
  /// if the version was withdrawn.
  private func publishedOffer(_ package: IncomingPackage) throws -> ContentOffer? {
    let info = package.info
    guard let record = try catalog.record(of: info.productIdentifier) else { return nil }
    guard let offer = record.offer(info.contentIdentifier, info.version) else {
      try checkRise(package, record)
      return nil
    }
    guard offer.package.digest == package.digest else {
      throw Self.versionExists(package, offer.version, "is already published, with other bytes")
    }
    return offer
  }

  /// Throws unless the version is new, and higher than every offered and retired version of the
  /// content.
  ///
  /// Users with a higher version would never be offered this version. A withdrawn version is the
  /// exception: clients replace it with any offered version.
  private func checkRise(_ package: IncomingPackage, _ record: CatalogRecord) throws {
    let (content, version) = (package.info.contentIdentifier, package.info.version)
    // Clients that have installed a withdrawn version would not accept other bytes as an update.
    guard record.withdrawnVersions[content]?.contains(version) != true else {
      throw Self.versionExists(
        package, version, "was withdrawn, and its number cannot be used again",
        remedy: "Use another ContentVersion and build the package again")
    }
    let known = record.offers.filter { $0.contentIdentifier == content }.map(\.version)
    let highest = (known + (record.retiredVersions[content] ?? [])).max()
    guard let highest, version <= highest else { return }
    throw Self.versionExists(
      package, version,
      "is not higher than \(highest), which the store \(known.contains(highest) ? "has" : "had")")
  }

  /// Whether the package has the bytes of `sameVersion`; throws `versionExists` for other bytes.
  private func isDuplicate(_ package: IncomingPackage, of sameVersion: IncomingPackage?) throws
    -> Bool
  {
    guard let sameVersion else { return false }
    guard sameVersion.digest == package.digest else {
      throw Self.versionExists(
        package, sameVersion.info.version,
        "is given twice, also as \(sameVersion.path), with other bytes")
    }
    return true
  }

  /// Throws `diskFull` if the packages do not fit, before anything is published.
  func requireSpace(_ packages: [IncomingPackage]) throws {
    let copied = packages.filter { $0.copy != nil && !isDryRun }
    let copiedLength = copied.reduce(0) { $0 + $1.examination.packedLength }
    let available = try store.availableBytes() + copiedLength
    let needed = packages.reduce(Self.reserve) { $0 + $1.examination.packedLength }
    let isComplete = isDryRun || copied.count == packages.count
    guard !packages.isEmpty, available < needed || !isComplete else { return }
    throw ContentError(
      .diskFull,
      "The packages need \(needed) bytes in \(store.path), where \(available) are free",
      remedy: "Free \(max(1, needed - available)) bytes there and try again", subject: store.path)
  }

  private static func versionExists(
    _ package: IncomingPackage, _ version: ContentVersion, _ reason: String,
    remedy: String = "Increase ContentVersion and build the package again"
  ) -> ContentError {
    ContentError(
      .versionExists,
      "\(package.path): version \(version) of \(package.info.contentIdentifier) \(reason)",
      remedy: remedy, subject: package.info.productIdentifier.rawValue)
  }
}

extension ContentError {
  fileprivate static func contentClaimed(
    _ name: ProductIdentifier, by other: ProductIdentifier, in package: IncomingPackage
  ) -> ContentError {
    let product = package.info.productIdentifier
    if name == product { return .productClaimed(product, by: other).naming(package.path) }
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

private struct Refusal {
  let path: String
  let finding: Finding
  /// The error of a publication with only this finding.
  let error: ContentError

  init(_ finding: Finding, in path: String) {
    self.path = path
    self.finding = finding.about(path)
    error = finding.error(in: path)
  }

  /// A package that is valid, but that the store cannot have, or that cannot be read.
  init(_ error: ContentError, in path: String) {
    self.path = path
    let prefix = "\(path): "
    let message =
      error.message.hasPrefix(prefix)
      ? String(error.message.dropFirst(prefix.count)) : error.message
    finding = Finding(
      subject: path, path: nil, rule: nil, message: message, remedy: error.remedy, code: error.code,
      cause: error.cause)
    self.error = error.about(path)
  }
}
