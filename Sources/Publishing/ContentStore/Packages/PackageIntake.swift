import HostedFileIO
public import HostedModel
import HostedPackage
import HostedTrust

/// A valid package and its contents.
struct IncomingPackage {
  /// The path from the caller, for messages.
  let path: String
  /// The path of the published bytes: `path` or the converted file.
  let location: String
  let digest: Digest
  let info: ContentInfo
  let examination: PackageExamination
  /// The offer of the catalog with exactly these bytes; nil if the catalog has none.
  fileprivate(set) var published: ContentOffer?
}

/// Checks packages before anything is written; one invalid package refuses all.
struct PackageIntake {
  let fileSystem: FileSystem
  let catalog: CatalogDraft
  /// The folder for packages that are converted; nil if packages are published unchanged.
  let conversionFolder: Directory?

  /// Returns the packages at `paths`, without duplicates.
  ///
  /// Calls `didFind` with each finding of invalid packages, and then throws an error that names all
  /// of them.
  func packages(at paths: [String], didFind: (PackageFinding) -> Void) throws -> [IncomingPackage] {
    var accepted: [IncomingPackage] = []
    // The product that has an identifier, and the package of a version.
    var owners: [ProductIdentifier: ProductIdentifier] = [:]
    var versions: [ContentKey: IncomingPackage] = [:]
    var findings: [PackageFinding] = []
    for (number, path) in paths.enumerated() {
      do {
        let (package, found) = try incoming(path, number)
        findings += found.map { PackageFinding($0, in: path) }
        guard var package else { continue }
        let (product, content) = (package.info.productIdentifier, package.info.contentIdentifier)
        let version = ContentKey(content, version: package.info.version)
        try checkContentIdentifier(package, owners)
        package.published = try publishedOffer(package)
        if try isDuplicate(package, of: versions[version]) { continue }
        owners[product] = product
        owners[content] = product
        versions[version] = package
        accepted.append(package)
      } catch let finding as Finding {
        findings.append(PackageFinding(finding, in: path))
      } catch let error as ContentError where error.code != .stopped {
        findings.append(PackageFinding(error, in: path))
      }
    }
    findings.forEach(didFind)
    let refusals = findings.map { (path: $0.path, message: $0.message, error: $0.error) }
    let remedy = "Correct these packages, then publish all of them again"
    if let error = ContentError.combined(refusals, "Nothing was published", remedy: remedy) {
      throw error
    }
    return accepted
  }

  /// Returns the package at `path`, converted if requested and it has no index, and all findings.
  ///
  /// Throws the finding about a file that is not a package.
  private func incoming(_ path: String, _ number: Int) throws -> (IncomingPackage?, [Finding]) {
    let source = try FileByteSource(fileSystem.file(at: path))
    // First, so that a change during the examination is detected when the file is copied.
    let digest = try source.digest()
    let examination = try examinePackage(source)
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
    return IncomingPackage(
      path: path, location: location, digest: digest, info: info, examination: examination)
  }

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
    let highest = (known + [record.retired[content]].compactMap { $0 }).max()
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

  /// Throws `diskFull` if the packages do not fit, before anything is written.
  func requireSpace(_ packages: [IncomingPackage], in store: Directory) throws {
    let available = try store.availableBytes()
    // Indexes and metadata need some space too.
    let needed = packages.reduce(4 << 20) { $0 + $1.examination.packedLength }
    guard !packages.isEmpty, available < needed else { return }
    throw ContentError(
      .diskFull,
      "The packages need \(needed) bytes in \(store.path), where \(available) are free",
      remedy: "Free \(needed - available) bytes there and try again", subject: store.path)
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

/// A reason why `StoreFolder.publish` refuses a package.
public struct PackageFinding: Hashable, Codable, Sendable {
  /// The path of the package.
  public let path: String
  /// The path of the entry in the package, safe for messages; nil for the whole package.
  public let entry: String?
  /// The stable name of the broken rule, such as `path-parent`; nil for a package that is valid,
  /// but that this store cannot have, or that cannot be read.
  public let rule: String?
  /// The problem, as one sentence without the package's path and a final period.
  public let message: String
  /// The error of a publication with only this finding; its remedy is for the package's author.
  public let error: ContentError

  init(_ finding: Finding, in path: String) {
    self.path = path
    entry = finding.path
    rule = finding.rule
    message = finding.message
    error = finding.error(in: path)
  }

  init(_ error: ContentError, in path: String) {
    self.path = path
    (entry, rule) = (nil, nil)
    let prefix = "\(path): "
    message =
      error.message.hasPrefix(prefix)
      ? String(error.message.dropFirst(prefix.count)) : error.message
    self.error = error.about(path)
  }
}
