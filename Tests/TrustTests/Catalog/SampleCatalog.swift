import HostedModel
import HostedTrust
import HostedDigests
import FoundationEssentials
import HostedTestSupport

/// A store in memory, whose keys all belong to the test.
///
/// A test can replace each file by one that a server or a broken publisher would send.
struct SampleCatalog {
  let sample: SampleMetadata
  /// There are 2 to the power of `bits` bins, or only one list if it is 0.
  let bits: Int64
  /// The delegations to the bins; nil without bins.
  let delegations: Delegations?
  /// The version of all metadata except the root.
  var version: Int64 = 1
  /// The bytes of each product's record.
  var records: [ProductIdentifier: [UInt8]] = [:]
  /// The products of contents with names of their own.
  var owners: [ProductIdentifier: ProductIdentifier] = [:]

  init(_ sample: SampleMetadata, bits: Int64 = 2) throws {
    (self.sample, self.bits) = (sample, bits)
    delegations = try bits == 0 ? nil : sample.rootRole().targetBins(bits: bits)
  }

  /// Returns a store with three products in each of four bins.
  static func withThreeProductsInEachBin(_ sample: SampleMetadata) throws -> SampleCatalog {
    var catalog = try SampleCatalog(sample)
    for bin in 0..<4 {
      for product in try BinNames.products(3, prefix: "p", bin: bin, bits: 2) {
        try catalog.add(product)
      }
    }
    return catalog
  }

  // MARK: Products

  /// Adds a product with one version of its content, or replaces it.
  mutating func add(_ product: ProductIdentifier, title: String = "Title") throws {
    records[product] = try Self.record(product, title: title).json
  }

  /// Returns the record of a product with these versions of contents, by default of its own.
  static func record(
    _ product: ProductIdentifier, title: String = "Title", contents: [ProductIdentifier]? = nil,
    versions: [ContentVersion] = ["1"]
  ) throws -> CatalogRecord {
    let texts = ["en": ProductText(title: title)]
    var record = CatalogRecord(
      ProductRecord(
        productIdentifier: product, type: .nonConsumable, texts: texts, price: nil))
    let digest = try Digest(of: [1])
    for content in contents ?? [product] {
      for version in versions {
        let folder = content == product ? "\(version)" : "\(version)/\(content)"
        func file(_ name: String) -> SignedFile {
          SignedFile(path: "targets/\(product)/\(folder)/\(name)", length: 1, digest: digest)
        }
        record.add(
          ContentOffer(
            productIdentifier: product, contentIdentifier: content, version: version,
            installedSize: 1, package: file("package"), index: file("index")))
      }
    }
    return record
  }

  /// The entry of `product`; nil for an unknown product.
  func entry(_ product: ProductIdentifier) throws -> TargetFile? {
    try records[product].map {
      TargetFile(length: Int64($0.count), digest: try Digest(of: $0))
    }
  }

  /// The path of the record of `product`.
  func path(of product: ProductIdentifier) throws -> String {
    let digest = try records[product].map { try Digest(of: $0) }
    return "targets/\(product)/\(digest?.hex ?? "none").\(StorePath.Kind.record.rawValue)"
  }

  // MARK: Bins

  /// The names of the bins, in order.
  var names: [String] { delegations?.bins?.names ?? [] }

  /// The name of the bin of `product`, or an empty one if there is only one list.
  func bin(of product: ProductIdentifier) throws -> String {
    try delegations?.bins?.name(for: StorePath.entry(product)) ?? ""
  }

  /// The products in the bin `name`, sorted.
  func products(in name: String) throws -> [ProductIdentifier] {
    try records.keys.filter { try bin(of: $0) == name }.sorted()
  }

  /// The path of the metadata of the bin `name`.
  func path(of name: String) -> String { MetadataName.delegated(name).path(version: version) }

  /// The records file of the bin `name`.
  func recordsFile(of name: String) throws -> [UInt8] {
    RecordsFile.bytes(try products(in: name).compactMap { records[$0] })
  }

  /// The path of the records file of the bin `name`.
  func recordsPath(of name: String) throws -> String {
    RecordsFile.path(try Digest(of: recordsFile(of: name)))
  }

  /// The entries of the bin `name`, by target name.
  func targets(in name: String) throws -> [String: TargetFile] {
    var targets: [String: TargetFile] = [:]
    for product in try products(in: name) {
      targets[StorePath.entry(product)] = try entry(product)
    }
    for (content, product) in owners where try bin(of: content) == name {
      let custom = CatalogList.custom(ownedBy: product)
      targets[StorePath.entry(content)] = TargetFile(
        length: Int64(custom.encoded.count), digest: try Digest(of: custom.encoded), custom: custom)
    }
    return targets
  }

  /// The bin `name`.
  ///
  /// `changing` can change its entries; `role` is the name that it claims to have.
  func bin(
    _ name: String, as role: String? = nil, expires: Date? = nil,
    changing: (inout [String: TargetFile]) throws -> Void = { _ in }
  ) throws -> TargetsRole {
    var targets = try targets(in: name)
    try changing(&targets)
    let records = try recordsFile(of: name)
    return TargetsRole(
      version: version, expires: expires ?? sample.expires, targets: targets,
      details: ListDetails(
        role: .delegated(role ?? name), length: Int64(records.count),
        digest: try Digest(of: records)))
  }

  /// The bytes of a role that the targets keys have signed.
  func signed(_ role: TargetsRole) throws -> [UInt8] { try sample.signer(.targets).sign(role) }

  // MARK: Files

  /// All files except roots, by path.
  ///
  /// The snapshot does not list the bins in `unlisted`.
  func files(unlisted: Set<String> = []) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for (product, record) in records { files[try path(of: product)] = record }
    var promises: [String: MetadataFile] = [:]
    for name in names {
      files[path(of: name)] = try signed(bin(name))
      files[try recordsPath(of: name)] = try recordsFile(of: name)
      if !unlisted.contains(name) { promises["\(name).json"] = MetadataFile(version: version) }
    }
    let targets = try signed(
      TargetsRole(
        version: version, expires: sample.expires, targets: targets(in: ""),
        delegations: delegations))
    let snapshot = try sample.signer(.snapshot).sign(
      SnapshotRole(
        version: version, expires: sample.expires,
        targets: MetadataFile(version: version, bytes: targets), others: promises))
    files[MetadataName.targets.path(version: version)] = targets
    files[MetadataName.snapshot.path(version: version)] = snapshot
    files[MetadataName.timestamp.path()] = try sample.timestamp(
      version, snapshot: snapshot, version)
    return files
  }
}
