import ContentModel
import ContentPackage
import ContentTrust
import FileIO

/// Compares the files of a catalog with its signed metadata.
struct StoreVerifier {
  let folder: Directory
  let targets: TrustedTargets
  let throttle: ReadThrottle?
  let willRead: (String) throws -> Void
  let didFind: (StoreDamage) throws -> Void
  private(set) var result = StoreVerification()

  init(
    folder: Directory, targets: TrustedTargets, throttle: ReadThrottle?,
    willRead: @escaping (String) throws -> Void, didFind: @escaping (StoreDamage) throws -> Void
  ) {
    self.folder = folder
    self.targets = targets
    self.throttle = throttle
    self.willRead = willRead
    self.didFind = didFind
  }

  /// A file that the catalog lists, and what it belongs to.
  private struct Listed {
    let name: String
    let file: TargetFile
    let product: ProductIdentifier?
    var offer: ContentOffer?

    var remedy: String {
      switch (product, offer) {
      case (_, _?): "Publish the same package again, or restore the file from a copy"
      case (_?, nil):
        "Publish the product again with its texts and price, or restore the file from a copy"
      case (nil, nil): "Restore the file from a copy"
      }
    }
  }

  /// The remedy for signed files that contradict each other.
  private static let contradictionRemedy =
    "Build the package again and publish it with a higher version, then retire this one"

  /// Verifies the files of `products`, or all files if it is empty.
  mutating func verify(_ products: Set<ProductIdentifier>) throws {
    let listing = StoreListing(targets)
    if let unknown = products.filter({ listing.products[$0] == nil }).min() {
      throw ContentError(
        .productUnknown, "The store has no product \(unknown)",
        remedy: "Check the identifier, or list the versions of the store",
        subject: unknown.rawValue)
    }
    var rest = Set(targets.targets.keys)
    for (product, entry) in listing.products.sorted(by: { $0.key < $1.key })
    where products.isEmpty || products.contains(product) {
      if let error = entry.error {
        try add(
          StoreDamage(
            productIdentifier: product, contentIdentifier: nil, version: nil,
            path: "\(StoreFolder.targetsName)/\(product)", problem: .inconsistent,
            reason: error.message, remedy: "Publish the product again"))
      }
      let record = StoreTargetName.record(product)
      if let file = targets.targets[record] {
        rest.remove(record)
        try verifyRecord(Listed(name: record, file: file, product: product))
      }
      for offer in entry.offers {
        let content = offer.contentIdentifier
        let names = [
          StoreTargetName.package(product, content, offer.version),
          StoreTargetName.index(product, content, offer.version),
        ]
        rest.subtract(names)
        try verify(offer, names)
      }
    }
    for name in rest.sorted() {
      let first = name.pathComponents(omittingEmpty: false).first ?? ""
      let product = try? ProductIdentifier(validating: first)
      let isWanted = products.isEmpty || product.map { products.contains($0) } == true
      guard isWanted, let file = targets.targets[name] else { continue }
      _ = try source(Listed(name: name, file: file, product: product))
    }
  }

  // MARK: Files

  /// Returns the file if it is as the metadata lists it, or adds the difference and returns nil.
  private mutating func source(_ listed: Listed) throws -> ThrottledSource? {
    let paths = TrustedTargets.storePaths(
      of: listed.name, listed.file, consistent: targets.usesConsistentSnapshots)
    try willRead(paths.first ?? listed.name)
    result.files += 1
    result.bytes += listed.file.length
    for path in paths {
      do {
        let components = path.pathComponents(omittingEmpty: false)
        let parent = try folder.directory(at: components.dropLast())
        let source = try ThrottledSource(parent.file(components.last ?? ""), throttle)
        guard let difference = try Self.difference(of: source, from: listed.file) else {
          return source
        }
        try add(listed, .changed, difference, path: path)
        return nil
      } catch let error as ContentError where error.code == .fileMissing {
        continue
      } catch let error as ContentError
        where [.fileFailed, .notPermitted].contains(error.code)
      {
        try add(listed, .unreadable, error.message, cause: error.cause, path: path)
        return nil
      }
    }
    try add(listed, .missing, "the file does not exist", path: paths.first ?? listed.name)
    return nil
  }

  private static func difference(of source: ThrottledSource, from file: TargetFile) throws
    -> String?
  {
    guard source.length == file.length else {
      return "it has \(source.length) bytes instead of \(file.length)"
    }
    var hashing = FileHashing(file.hashes)
    try source.forEachBlock { try hashing.update($0) }
    return try hashing.difference()
  }

  private mutating func add(
    _ listed: Listed, _ problem: StoreDamage.Problem, _ reason: String, cause: String? = nil,
    path: String? = nil
  ) throws {
    try add(
      StoreDamage(
        productIdentifier: listed.product, contentIdentifier: listed.offer?.contentIdentifier,
        version: listed.offer?.version, path: path ?? targets.path(of: listed.name, listed.file),
        problem: problem, reason: cause.map { "\(reason): \($0)" } ?? reason,
        remedy: problem == .inconsistent && listed.offer != nil
          ? Self.contradictionRemedy : listed.remedy))
  }

  private mutating func add(_ damage: StoreDamage) throws {
    result.damages.append(damage)
    try didFind(damage)
  }

  // MARK: Records and packages

  private mutating func verifyRecord(_ listed: Listed) throws {
    guard let product = listed.product, let record = try source(listed) else { return }
    do {
      _ = try ProductRecord(json: record.contents(), of: product)
    } catch let error as ContentError where error.code == .storeDamaged {
      try add(listed, .inconsistent, error.message, cause: error.cause)
    }
  }

  /// Verifies the archive and the index of `offer`, whose target names are `names`.
  private mutating func verify(_ offer: ContentOffer, _ names: [String]) throws {
    let listed = names.compactMap { name in
      targets.targets[name].map {
        Listed(name: name, file: $0, product: offer.productIdentifier, offer: offer)
      }
    }
    guard listed.count == 2 else { return }
    let archive = try source(listed[0])
    guard let indexSource = try source(listed[1]) else { return }
    guard indexSource.length <= PackageIndex.maximumLength else {
      return try add(listed[1], .inconsistent, "the index is longer than the maximum")
    }
    let index: PackageIndex
    do {
      index = try PackageIndex(encoded: indexSource.contents())
    } catch let error as ContentError
      where [.storeDamaged, .formUnknown, .limitExceeded].contains(error.code)
    {
      return try add(listed[1], .inconsistent, error.message)
    }
    guard index.isConsistent, index.packageLength == offer.package.length else {
      return try add(listed[1], .inconsistent, "the numbers in the index contradict each other")
    }
    guard let archive, let reason = try Self.contradiction(between: archive, index, names[0])
    else { return }
    try add(listed[1], .inconsistent, reason)
  }

  /// Returns how `index` differs from `archive`, as the end of a sentence; nil if it describes it.
  private static func contradiction(
    between archive: ThrottledSource, _ index: PackageIndex, _ name: String
  ) throws -> String? {
    let examination: PackageExamination
    do {
      examination = try examinePackage(archive, name: name)
    } catch let error as ContentError where error.group == .package {
      return "its archive is not a content package: \(error.message)"
    }
    if let finding = examination.findings.first {
      return "its archive breaks a rule: \(finding.message)"
    }
    guard examination.entries == index.files else {
      return "it lists other files than its archive has"
    }
    // A later version of the software may index a package in another way. Compare in the same way.
    if index.payload != nil {
      let rebuilt = try PackageIndex(indexing: archive, entries: examination.entries)
      return rebuilt.encoded == index.encoded ? nil : "it lists other members than its archive has"
    }
    guard index.blockLength == PackageIndex.standardBlockLength else { return nil }
    let rebuilt = try PackageIndex(blocksOf: archive, entries: examination.entries, obstacle: "")
    return rebuilt.blocks == index.blocks ? nil : "it lists other blocks than its archive has"
  }
}
