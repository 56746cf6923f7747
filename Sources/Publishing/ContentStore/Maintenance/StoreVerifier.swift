import HostedFileIO
public import HostedModel
import HostedPackage
import HostedTrust

/// Compares the files of a catalog with its signed metadata.
struct StoreVerifier {
  let folder: Directory
  let metadata: StoreMetadata
  let throttle: ReadThrottle?
  let willRead: (String) throws -> Void
  let didFind: (Finding) throws -> Void
  private(set) var result = StoreVerification()
  /// The bins that were read; each counts once.
  private(set) var bins: Set<MetadataName> = []

  private var catalog: TrustedTargets { metadata.catalog }

  /// Verifies the files of `products`, or all files if it is empty.
  mutating func verify(_ products: Set<ProductIdentifier>) throws {
    guard !products.isEmpty else {
      for name in try catalog.lists { try verifyList(name) }
      return
    }
    let catalog = catalog
    // First, so that an unknown product is reported before a long verification.
    let records = try products.sorted().compactMap { product -> (ListedFile, CatalogList)? in
      guard let list = try list(catalog.listName(for: product)) else { return nil }
      guard case .product(let file) = list.entry(product) else {
        throw ContentError(
          .productUnknown, "The store has no product \(product)",
          remedy: "Check the identifier, or list the versions of the store",
          subject: product.rawValue)
      }
      return (listedFile(StorePath.entry(product), file, in: list), list)
    }
    for (record, list) in records {
      try verifyProduct(
        record, known: { (try? catalog.records(of: list)) ?? [:] }, alsoEntries: true)
    }
  }

  // MARK: Lists

  private mutating func verifyList(_ name: MetadataName) throws {
    guard let list = try list(name) else { return }
    let records = try verifyRecords(of: list)
    for (target, file) in list.role.targets.sorted(by: { $0.key < $1.key }) {
      let listed = listedFile(target, file, in: list)
      if listed.kind == .record {
        try verifyProduct(listed, known: { records }, alsoEntries: false)
      } else {
        _ = try source(listed)
      }
    }
  }

  /// Returns the list `name`, or adds the difference and returns nil.
  ///
  /// A bin is counted, and its difference added, only the first time.
  private mutating func list(_ name: MetadataName) throws -> CatalogList? {
    let path = metadata.path(ofList: name)
    let isFirst = name != .targets && bins.insert(name).inserted
    if isFirst {
      try willRead(path)
      result.files += 1
    }
    do {
      let list = try catalog.list(name)
      if isFirst {
        // No metadata lists the length of a bin.
        let folder = try folder.directory(StoreFolder.metadataName)
        let length = try folder.status(of: path.lastPathComponent)?.size ?? 0
        result.bytes += length
        throttle?.pass(Int(clamping: length))
      }
      return list
    } catch let error as ContentError {
      guard let problem = Problem(error) else { throw error }
      if isFirst {
        try add(
          Finding(
            path: path, rule: problem.rawValue,
            message: problem == .missing ? Self.missingReason : error.reason,
            remedy: "Restore the file from a copy, or repair the store", code: .storeDamaged))
      }
      return nil
    }
  }

  private func listedFile(_ target: String, _ file: TargetFile, in list: CatalogList)
    -> ListedFile
  {
    ListedFile(target, file, in: list, consistent: catalog.usesConsistentSnapshots)
  }

  /// Verifies the records file of `list`, and returns its records; empty if it is damaged.
  private mutating func verifyRecords(of list: CatalogList) throws -> [Digest: [UInt8]] {
    guard let listed = list.role.details.map({ ListedFile($0) }), listed.isRequired,
      let source = try source(listed)
    else { return [:] }
    guard source.length <= RecordsFile.maximumLength else {
      try add(listed, .inconsistent, "it is longer than the maximum")
      return [:]
    }
    let records = try RecordsFile.records(in: source.contents())
    let missing = list.products.filter { _, file in
      file.digest.map { records[$0] == nil } ?? false
    }
    if let product = missing.keys.min() {
      try add(listed, .inconsistent, "it does not have the record of \(product)")
    }
    return records
  }

  // MARK: Products

  /// Verifies a product's record, the archives and indexes of all its versions, and, if
  /// `alsoEntries`, the entries of its contents.
  ///
  /// `known` returns the records of the list, by digest. They replace a lost record, so that the
  /// other files of the product are known.
  private mutating func verifyProduct(
    _ listed: ListedFile, known: () -> [Digest: [UInt8]], alsoEntries: Bool
  ) throws {
    guard let product = listed.product else { return }
    let stored = try source(listed)
    guard listed.length <= CatalogRecord.maximumLength else {
      return try add(listed, .inconsistent, "the record is longer than the maximum")
    }
    let bytes = try stored?.contents() ?? listed.hashes.sha256.flatMap { known()[$0] }
    guard let bytes else { return }
    let record: CatalogRecord
    do {
      record = try CatalogRecord(json: bytes, of: product)
    } catch let error as ContentError where error.code == .storeDamaged {
      return try add(listed, .inconsistent, error.reason)
    }
    if alsoEntries { try verifyEntries(of: record) }
    try verifyClaims(of: record, listed)
    for offer in record.offers { try verify(offer) }
  }

  private mutating func verifyEntries(of record: CatalogRecord) throws {
    for content in record.ownedContents.sorted() {
      let target = StorePath.entry(content)
      guard let list = try list(catalog.listName(for: content)),
        let file = list.role.targets[target]
      else { continue }
      let listed = listedFile(target, file, in: list)
      if listed.kind == .content, listed.product == record.product { _ = try source(listed) }
    }
  }

  /// Verifies that no other product has a content of `record`.
  private mutating func verifyClaims(of record: CatalogRecord, _ listed: ListedFile) throws {
    do {
      try catalog.checkClaims(of: record)
    } catch let error as ContentError
      where [.contentClaimed, .storeDamaged].contains(error.code)
    {
      try add(listed, .inconsistent, error.reason)
    } catch let error as ContentError where Problem(error) != nil {
      // The bin of a content is damaged, which is a difference of that bin.
    }
  }

  // MARK: Files

  private static let missingReason = "the file does not exist"

  /// Returns the file if it is as the metadata lists it, or adds the difference and returns nil.
  private mutating func source(_ listed: ListedFile) throws -> FileByteSource? {
    try willRead(listed.paths[0])
    result.files += 1
    result.bytes += listed.length
    for path in listed.paths {
      do {
        let components = path.pathComponents(omittingEmpty: false)
        let parent = try folder.directory(at: components.dropLast())
        let source = try FileByteSource(parent.file(components.last ?? ""), throttle)
        guard let difference = try Self.difference(of: source, from: listed) else { return source }
        try add(listed, .changed, difference, path: path)
        return nil
      } catch let error as ContentError where error.code == .fileMissing {
        continue
      } catch let error as ContentError
        where [.fileFailed, .notPermitted].contains(error.code)
      {
        try add(listed, .unreadable, error.reason, path: path)
        return nil
      }
    }
    try add(listed, .missing, Self.missingReason)
    return nil
  }

  private static func difference(of source: FileByteSource, from file: ListedFile) throws
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
    _ listed: ListedFile, _ problem: Problem, _ reason: String, path: String? = nil
  ) throws {
    try add(
      Finding(
        product: listed.product, content: listed.content, version: listed.version,
        path: path ?? listed.paths[0], rule: problem.rawValue, message: reason,
        remedy: listed.remedy(problem), code: .storeDamaged))
  }

  private mutating func add(_ damage: Finding) throws {
    result.damages.append(damage)
    try didFind(damage)
  }

  // MARK: Packages

  private mutating func verify(_ offer: ContentOffer) throws {
    let archive = try source(ListedFile(offer.package, .archive, of: offer))
    let listed = ListedFile(offer.index, .index, of: offer)
    guard let indexSource = try source(listed) else { return }
    guard indexSource.length <= PackageIndex.maximumLength else {
      return try add(listed, .inconsistent, "the index is longer than the maximum")
    }
    let index: PackageIndex
    do {
      index = try PackageIndex(encoded: indexSource.contents())
    } catch let error as ContentError
      where [.storeDamaged, .formatUnknown, .limitExceeded].contains(error.code)
    {
      return try add(listed, .inconsistent, error.message)
    }
    guard index.isConsistent, index.packageLength == offer.package.length else {
      return try add(listed, .inconsistent, "the numbers in the index contradict each other")
    }
    guard let archive,
      let reason = try Self.contradiction(between: archive, index, offer.package.path)
    else { return }
    try add(listed, .inconsistent, reason)
  }

  /// Returns how `index` differs from `archive`, as the end of a sentence; nil if it describes it.
  private static func contradiction(
    between archive: FileByteSource, _ index: PackageIndex, _ name: String
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

extension ListedFile {
  /// What to do about a file with `problem`; a sentence without a final period.
  fileprivate func remedy(_ problem: Problem) -> String {
    switch kind {
    case .archive, .index:
      problem == .inconsistent
        ? "Build the package again and publish it with a higher version, then retire this one"
        : "Publish the same package again, or restore the file from a copy"
    case .record:
      "Publish the product again with its texts and price, or restore the file from a copy"
    case .content: "Publish the product again, or restore the file from a copy"
    case .records: "Refresh everything, which writes the file again, or restore it from a copy"
    case .other: "Restore the file from a copy. If it has receipt keys, add one of them again"
    }
  }
}

/// The kind of a difference; see `StoreVerification.damages`.
private enum Problem: String {
  case missing, changed, unreadable, inconsistent

  /// The problem of a bin that cannot be read because of `error`; nil for other errors.
  init?(_ error: ContentError) {
    switch (error.group, error.code) {
    case (.trust, _): self = .changed
    case (_, .storeMissing): self = .missing
    case (_, .fileFailed), (_, .notPermitted): self = .unreadable
    default: return nil
    }
  }
}

extension ContentError {
  /// The message with the cause, as the end of a sentence.
  fileprivate var reason: String { errorDescription ?? message }
}

/// The result of comparing a store's files with its signed metadata.
public struct StoreVerification: Hashable, Sendable {
  /// The number of files that were compared.
  public internal(set) var files = 0
  /// The signed length of these files, in bytes; the actual length of bins, which is not signed.
  public internal(set) var bytes: Int64 = 0
  /// The differences, by list, product and version.
  ///
  /// The path is below the store's folder; the message is the end of a sentence. The rule is
  /// `missing` for a file that does not exist, `changed` for another length or another digest,
  /// `unreadable`, or `inconsistent` for a file that is as it was signed, but contradicts another
  /// file or its own form.
  public internal(set) var damages: [Finding] = []
}

extension StoreVerification: Codable {
  private enum Key: CodingKey {
    case files, bytes, damages
  }

  /// A difference in JSON.
  private struct Damage: Codable {
    let productIdentifier: ProductIdentifier?
    let contentIdentifier: ProductIdentifier?
    let version: ContentVersion?
    let path: String
    let problem: String
    let reason: String
    let remedy: String
  }

  /// Reads what `encode(to:)` has written.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    files = try values.decode(Int.self, forKey: .files)
    bytes = try values.decode(Int64.self, forKey: .bytes)
    damages = try values.decode([Damage].self, forKey: .damages).map {
      Finding(
        product: $0.productIdentifier, content: $0.contentIdentifier, version: $0.version,
        path: $0.path, rule: $0.problem, message: $0.reason, remedy: $0.remedy, code: .storeDamaged)
    }
  }

  /// Writes the rule of a difference as `problem`, and its message as `reason`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(files, forKey: .files)
    try values.encode(bytes, forKey: .bytes)
    let damages = damages.map {
      Damage(
        productIdentifier: $0.productIdentifier, contentIdentifier: $0.contentIdentifier,
        version: $0.version, path: $0.path ?? "", problem: $0.rule ?? "", reason: $0.message,
        remedy: $0.remedy)
    }
    try values.encode(damages, forKey: .damages)
  }
}

extension FileByteSource {
  fileprivate func contents() throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(clamping: length))
    try forEachBlock { bytes += $0 }
    return bytes
  }
}
