import HostedConcurrency
package import HostedModel
import HostedDigests

/// The products of a store, in one list or in hash bins.
///
/// Methods block, because they may fetch a bin or a record. They throw `metadataDamaged` for a bin
/// that is not what its signature says, and the errors of a fetch.
extension TrustedTargets {
  /// The names of all lists.
  ///
  /// Throws `metadataDamaged` if there are more bins than roles that one role may delegate to.
  package var lists: [MetadataName] {
    get throws {
      guard let bins = role.delegations?.bins else { return [.targets] }
      guard 1 << bins.bits <= MetadataLimits.delegations else {
        throw ContentError.metadataDamaged(.targets, "it has more bins than the maximum")
      }
      return bins.names.map(MetadataName.delegated)
    }
  }

  /// The name of the list that has the entry of `name`, if it exists.
  package func listName(for name: ProductIdentifier) throws -> MetadataName {
    try listName(ofTarget: StorePath.entry(name))
  }

  /// The name of the list that has the target `name`, if it exists.
  package func listName(ofTarget name: String) throws -> MetadataName {
    try role.delegations?.bins.map { .delegated(try $0.name(for: name)) } ?? .targets
  }

  /// Returns the list `name`, which is one of `lists`.
  package func list(_ name: MetadataName) throws -> CatalogList {
    guard case .delegated(let bin) = name, let bins = role.delegations?.bins else {
      return CatalogList(name, role)
    }
    let delegator = Delegator(name: .targets, role: role)
    let list = try self.role(bin, for: delegator) { try bins.check($0, as: bin) }
    // `target` may have read it without the check.
    try list.checkName(bin)
    return CatalogList(name, list)
  }

  /// Returns the entry of a product or content; nil for an unknown one.
  package func entry(_ name: ProductIdentifier) throws -> CatalogList.Entry? {
    try list(listName(for: name)).entry(name)
  }

  // MARK: Records

  /// Returns the record of `product`; nil if the store has no such product.
  ///
  /// Throws `storeMissing` if the file does not exist, `digestMismatch` if its bytes differ from
  /// the metadata, and `storeDamaged` if it cannot be read.
  package func record(of product: ProductIdentifier) throws -> CatalogRecord? {
    guard case .product(let file) = try entry(product) else { return nil }
    return try record(of: product, file)
  }

  /// Returns the record of `product`, whose entry is `file`.
  ///
  /// Does not fetch it if its bytes are `known`.
  package func record(
    of product: ProductIdentifier, _ file: TargetFile, known: [UInt8]? = nil
  ) throws -> CatalogRecord {
    let bytes = try recordBytes(of: product, file) {
      try known ?? fetchEntry(StorePath.entry(product), file)
    }
    return try CatalogRecord(json: bytes, of: product, signers: signers)
  }

  /// Returns the bytes of a record, from the trust folder or from `fetch`, and keeps them unless
  /// the store is local.
  private func recordBytes(
    of product: ProductIdentifier, _ file: TargetFile, fetch: () throws -> [UInt8]
  ) throws -> [UInt8] {
    guard let folder, !fetcher.isLocal else { return try fetch() }
    return try fetches.withLock(for: StorePath.entry(product)) {
      if let kept = try keptRecord(of: product, file) { return kept }
      let bytes = try fetch()
      try folder.replaceRecord(of: product, with: bytes)
      return bytes
    }
  }

  /// Returns the record of `product` from the trust folder; nil if it is not there.
  package func keptRecord(of product: ProductIdentifier, _ file: TargetFile) throws -> [UInt8]? {
    guard let digest = file.digest, let kept = try folder?.record(of: product),
      try Digest(of: kept) == digest
    else { return nil }
    return kept
  }

  /// Fetches and verifies the file of the entry `name`.
  package func fetchEntry(_ name: String, _ file: TargetFile) throws -> [UInt8] {
    try fetch(name, file, at: path(of: name, file), limit: CatalogRecord.maximumLength)
  }

  /// Returns the records of all products of `list`, by digest; nil if the list has no such file.
  package func records(of list: CatalogList) throws -> [Digest: [UInt8]]? {
    guard let details = list.role.details else { return nil }
    guard details.hasFile else { return [:] }
    let file = TargetFile(length: details.length, digest: details.digest)
    let path = RecordsFile.path(details.digest)
    return try RecordsFile.records(
      in: fetch(path, file, at: path, limit: RecordsFile.maximumLength))
  }

  /// Throws `contentClaimed` if a content of `record` belongs to another product.
  ///
  /// Contents are installed under their own names, so a product that claims another product's
  /// content would write into its folder.
  package func checkClaims(of record: CatalogRecord) throws {
    let product = record.product
    for content in record.otherContents.sorted() {
      switch try entry(content) {
      case .content(of: product): continue
      case .content(of: let other): throw ContentError.contentClaimed(content, by: product, other)
      case .product: throw ContentError.contentClaimed(content, by: product, content)
      case nil: throw ContentError.recordDamaged(product, "the catalog has no entry of \(content)")
      }
    }
  }
}

extension TargetsRole {
  /// Throws `metadataDamaged` unless this is the bin `name`.
  fileprivate func checkName(_ name: String) throws {
    guard details?.role == name else {
      throw ContentError.metadataDamaged(
        .delegated(name), "it does not have its name: it may be another bin")
    }
  }
}

extension HashBins {
  /// Throws `metadataDamaged` unless `role` is the bin `name`, and all its targets belong to it.
  func check(_ role: TargetsRole, as name: String) throws {
    try role.checkName(name)
    for target in role.targets.keys where try self.name(for: target) != name {
      throw ContentError.metadataDamaged(
        .delegated(name), "\(target.printable(limit: 100)) belongs to another bin")
    }
  }
}

extension ContentError {
  fileprivate static func contentClaimed(
    _ content: ProductIdentifier, by product: ProductIdentifier, _ other: ProductIdentifier
  ) -> ContentError {
    ContentError(
      .contentClaimed,
      "The catalog assigns the content \(content) to both \(product) and \(other)",
      remedy: "Ask the store's owner to publish it for only one product",
      subject: product.rawValue)
  }
}
