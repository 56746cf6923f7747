import HostedModel
import HostedTrust

/// The lists of the signed catalog: one, or hash bins.
extension HostingCheck {
  /// The number of lists, and of files of each kind, that are compared by default.
  private static let sampleSize = 16

  /// Compares some or all lists and the files that they name with what is signed.
  mutating func checkCatalog(_ role: TargetsRole, of trusted: TrustedMetadata) throws {
    let catalog = TrustedTargets(role, of: trusted, fetcher: FetchedFile())
    let names = try catalog.lists
    report.catalogLists = names.count
    let sampled = sample(names, Self.sampleSize)
    // The files are distributed over the lists.
    let filesPerList = max(1, Self.sampleSize / max(1, sampled.count))
    var progress = Progress()
    for name in sampled {
      guard let list = try fetchList(name, role, trusted) else { continue }
      report.comparedLists += 1
      try checkFiles(of: list, catalog, filesPerList, &progress)
    }
    if let folder = progress.firstFolder { try checkListing("targets/", has: folder) }
  }

  /// What is checked only for the first file of its kind.
  private struct Progress {
    var hasRecords = false
    var hasContent = false
    /// The first name in the folder `targets`.
    var firstFolder: String?
  }

  /// Returns `count` elements, or all if all files are compared.
  private func sample<Element>(_ elements: [Element], _ count: Int) -> [Element] {
    comparesAll ? elements : HostingRules.sample(elements, count)
  }

  // MARK: Lists

  /// Returns the list `name`; nil after a finding.
  ///
  /// A bin is fetched. An expired one is accepted, so that the rest can be checked.
  private mutating func fetchList(
    _ name: MetadataName, _ role: TargetsRole, _ trusted: TrustedMetadata
  ) throws -> CatalogList? {
    guard case .delegated = name else { return CatalogList(name, role) }
    guard let file = trusted.snapshot?.files[name.fileName] else {
      report.add(HostingRules.unlisted(name))
      return nil
    }
    let path = name.path(version: trusted.root.usesConsistentSnapshots ? file.version : nil)
    guard
      let bytes = try contents(
        of: path, length: file.length, limit: RoleName.targets.limit, neverChanges: true)
    else { return nil }
    let catalog = TrustedTargets(
      role, of: trusted, fetcher: FetchedFile(path: path, bytes: bytes))
    var found: CatalogList?
    guard try isAccepted(path, { found = try catalog.list(name) }), let list = found else {
      return nil
    }
    check(name, path, list.role.expires)
    return list
  }

  /// Returns the records in the records file of `list`, by digest; empty after a finding.
  private mutating func fetchRecords(of list: CatalogList, _ progress: inout Progress) throws
    -> [Digest: [UInt8]]
  {
    // The content of an empty file is known.
    guard let details = list.role.details, details.hasFile else { return [:] }
    report.catalogFiles += 1
    let file = HostedFile(
      path: RecordsFile.path(details.digest),
      file: TargetFile(length: details.length, digest: details.digest))
    guard let bytes = try compareWhole(file, neverChanges: true) else { return [:] }
    if !progress.hasRecords { try checkCompression(file) }
    progress.hasRecords = true
    return try RecordsFile.records(in: bytes)
  }

  // MARK: Files

  /// Compares the records file of `list`, and `count` of its targets, archives and indexes.
  private mutating func checkFiles(
    of list: CatalogList, _ catalog: TrustedTargets, _ count: Int, _ progress: inout Progress
  ) throws {
    var records = try fetchRecords(of: list, &progress)
    let names = list.role.targets.keys.sorted()
    progress.firstFolder = progress.firstFolder ?? names.first?.pathComponents().first
    report.catalogFiles += names.count
    for name in sample(names, count) {
      guard let file = list.role.targets[name] else { continue }
      let listed = HostedFile(path: catalog.path(of: name, file), file: file)
      // If the records file is missing, these records are known nevertheless.
      if let bytes = try compareWhole(listed), let digest = file.digest { records[digest] = bytes }
    }
    let offers = try knownOffers(of: list, catalog, records)
    report.catalogFiles += 2 * offers.count
    for offer in sample(offers, count) {
      try checkContent(of: offer, isFirst: !progress.hasContent)
      progress.hasContent = true
    }
  }

  /// Returns the versions that the known `records` of `list` name, sorted by product.
  private mutating func knownOffers(
    of list: CatalogList, _ catalog: TrustedTargets, _ records: [Digest: [UInt8]]
  ) throws -> [ContentOffer] {
    var offers: [ContentOffer] = []
    for (product, file) in list.products.sorted(by: { $0.key < $1.key }) {
      guard let record = file.digest.flatMap({ records[$0] }) else { continue }
      do {
        offers += try CatalogRecord(json: record, of: product).offers
      } catch let error as ContentError where error.code == .storeDamaged {
        let path = catalog.path(of: StorePath.entry(product), file)
        report.add(HostingRules.unreadable(path, error))
      }
    }
    return offers
  }
}

/// A file that the check has fetched, so that `TrustedTargets` verifies it like a client.
///
/// The check fetches it itself, because it examines the whole answer.
private struct FetchedFile: MetadataFetcher {
  /// The path below the store; nil without a file.
  var path: String?
  var bytes: [UInt8] = []

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? { path == self.path ? bytes : nil }
}
