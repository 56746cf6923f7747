import FoundationEssentials
import HostedConcurrency
import HostedDigests
package import HostedModel

/// The files of a store, as listed in its verified metadata; may be used from any thread.
///
/// Reads the roles that the targets delegate to from memory, from the trust folder, or from the
/// store. Methods that read one block.
package final class TrustedTargets: Sendable {
  package let role: TargetsRole
  /// Digest of the keys and the threshold of the targets role; it changes only if they change.
  package let signers: Digest?
  /// Whether file names contain the digest.
  package let usesConsistentSnapshots: Bool
  private let trusted: Mutex<TrustedMetadata>
  // Each role and record is fetched once, by the first of the threads that need it.
  let fetches = KeyedLock<String>()
  let folder: TrustFolder?
  let fetcher: any MetadataFetcher
  /// The time at which roles must be valid; nil for roles of an earlier run, which may be older
  /// than the snapshot.
  private let time: Date?

  /// Creates the files of targets that were verified with `trusted`, with all delegated roles from
  /// the store, even if they have expired.
  package convenience init(
    _ role: TargetsRole, of trusted: TrustedMetadata, fetcher: any MetadataFetcher
  ) {
    self.init(role, of: trusted, folder: nil, fetcher: fetcher, time: .distantPast)
  }

  /// Creates the files of targets that were verified with `trusted`, with the delegated roles that
  /// its snapshot lists.
  init(
    _ role: TargetsRole, of trusted: TrustedMetadata, folder: TrustFolder?,
    fetcher: any MetadataFetcher, time: Date?
  ) {
    self.role = role
    signers = trusted.root.roles[.targets].flatMap { keys in
      try? Digest(of: Array("\(keys.threshold) \(keys.identifiers.sorted())".utf8))
    }
    usesConsistentSnapshots = trusted.root.usesConsistentSnapshots
    self.trusted = Mutex(trusted)
    self.folder = folder
    self.fetcher = fetcher
    self.time = time
  }

  /// The same files and records, without fetching.
  var kept: TrustedTargets {
    TrustedTargets(role, of: metadata, folder: folder, fetcher: NoServer(), time: time)
  }

  /// The metadata with the delegated roles that were read.
  var metadata: TrustedMetadata { trusted.withLock { $0 } }
  /// The version of the targets metadata.
  package var version: Int64 { role.version }
  /// The versions of snapshot and targets: changes with each list, also if only a bin changes.
  package var catalogVersion: String { "\(metadata.snapshot?.version ?? 0).\(version)" }
  /// The files of the targets metadata, by name; the bins of a large store have files too.
  package var targets: [String: TargetFile] { role.targets }

  // MARK: Delegated roles

  /// Returns the role `name`, for which `delegator` is trusted.
  ///
  /// `check` can refuse a role that was not read before. What it refuses is not kept.
  func role(
    _ name: String, for delegator: Delegator, check: (TargetsRole) throws -> Void = { _ in }
  ) throws -> TargetsRole {
    guard let time else { return try earlierRole(name, for: delegator, check: check) }
    func known() throws -> TargetsRole? {
      try metadata.trustedRole(name, for: delegator, now: time)
    }
    if let role = try known() { return role }
    return try fetches.withLock(for: name) {
      try known() ?? read(name, for: delegator, time, check)
    }
  }

  private func read(
    _ name: String, for delegator: Delegator, _ time: Date, _ check: (TargetsRole) throws -> Void
  ) throws -> TargetsRole {
    // Verified without the lock, so that threads that read different roles do not wait.
    let metadata = metadata
    return try fetcher.fetch(.delegated(name), listedIn: metadata, keptIn: folder) { bytes in
      let found = try metadata.role(name, in: bytes, for: delegator, now: time)
      try check(found.role)
      trusted.withLock { $0.keep(found, for: delegator) }
      return found.role
    }
  }

  /// Returns a role of an earlier run, to see what existed; only its signatures are checked.
  private func earlierRole(
    _ name: String, for delegator: Delegator, check: (TargetsRole) throws -> Void
  ) throws -> TargetsRole {
    if let bytes = try folder?.metadata(.delegated(name)) {
      let found = try SignedMetadata<TargetsRole>(bytes, as: .delegated(name))
      try found.checkSignatures(by: delegator.signers(of: name))
      // It may be from before the number of bins grew.
      if (try? check(found.role)) != nil { return found.role }
    }
    throw ContentError.storeMissing(MetadataName.delegated(name).fileName)
  }

  /// Returns the description of the target `name` from the role that is trusted for it.
  ///
  /// Blocks. Searches the targets and then the roles that they delegate to: depth first, each role
  /// once, before the roles that it delegates to. Throws `storeMissing` if no role lists the
  /// target. An error in a role that has to be searched ends the search. Source: The Update
  /// Framework specification 1.0.34, section 5.6.7.
  package func target(_ name: String) throws -> TargetFile {
    // A stack: the next role to search is the last element.
    var pending: [(role: String, delegator: Delegator)] = []
    var searched: Set<String> = []
    var current = Delegator(name: .targets, role: role)
    while true {
      if let file = current.role.targets[name] { return file }
      let delegated = try current.role.delegations?.roles(for: name) ?? []
      // After a terminating role, no other role is searched, here or at a higher level.
      if delegated.last?.isTerminating == true { pending = [] }
      pending += delegated.reversed().map { (role: $0.name, delegator: current) }
      while let last = pending.last, searched.contains(last.role) { pending.removeLast() }
      guard searched.count < MetadataLimits.searchedRoles, let next = pending.popLast() else {
        throw ContentError.storeMissing("target \(name)")
      }
      searched.insert(next.role)
      let role = try self.role(next.role, for: next.delegator)
      current = Delegator(name: .delegated(next.role), role: role)
    }
  }

  // MARK: Files

  /// The path below the store of the target `name`: `targets/<folder>/<SHA-256>.<base name>`.
  package func path(of name: String, _ file: TargetFile) -> String {
    Self.storePaths(of: name, file, consistent: usesConsistentSnapshots).first ?? name
  }

  /// The possible paths of the target `name` below the store, the usual one first.
  ///
  /// Not empty. See `paths`.
  package static func storePaths(of name: String, _ file: TargetFile, consistent: Bool) -> [String]
  {
    paths(of: name, file, consistent: consistent).map { "\(StorePath.folder)/\($0)" }
  }

  /// The possible paths of the target `name` below the store's targets, the usual one first.
  ///
  /// With `consistent` names, each path has one of the listed digests before its last component.
  package static func paths(of name: String, _ file: TargetFile, consistent: Bool) -> [String] {
    guard consistent else { return [name] }
    return file.hashes.prefixes.map { prefix in
      var parts = name.pathComponents(omittingEmpty: false)
      parts.append("\(prefix).\(parts.removeLast())")
      return parts.joined(separator: "/")
    }
  }

  /// Fetches and verifies the file at `path`; `name` is for messages.
  ///
  /// Blocks. Throws `storeMissing` if it does not exist, `limitExceeded` if it has more than
  /// `limit` bytes, and `digestMismatch` if the bytes differ from the metadata.
  package func fetch(
    _ name: String, _ file: TargetFile, at path: String, limit: Int64
  ) throws -> [UInt8] {
    guard file.length <= limit else {
      throw ContentError(
        .limitExceeded, "\(name) has \(file.length) bytes, more than the maximum of \(limit)",
        remedy: "Ask the store's owner to publish a shorter file", subject: name)
    }
    return try fetcher.fromServers { server in
      let bytes: [UInt8]?
      do {
        bytes = try server.fetch(path, limit: file.length)
      } catch let error as ContentError where error.code == .limitExceeded {
        throw ContentError.digestMismatch(name, "it has more than \(file.length) bytes")
      }
      guard let bytes else { throw ContentError.storeMissing(path) }
      try file.check(bytes, of: name)
      return bytes
    }
  }
}

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
