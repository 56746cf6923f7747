import HostedModel
import HostedTrust
package import HostedFileIO
public import FoundationEssentials

/// What a store has and needs: verification, status and pruning.
extension StoreFolder {
  // MARK: Verifying

  /// Compares every bin, records file, record, archive and index with the signed metadata.
  ///
  /// A bin must be signed. All other files must exist with their lengths and digests; an index must
  /// be readable and describe exactly its archive; a record must be readable; a records file must
  /// have all records of its list. Changes nothing and needs no keys. The top-level metadata is
  /// verified first, like for `products()`, and errors in it are thrown.
  ///
  /// Verifies `products`, or all if it is empty, and throws `productUnknown` for an unknown one.
  /// For `products`, reads only the bins that list them and their contents, and a records file only
  /// for a lost record. Reads at most `bytesPerSecond`; nil is unlimited, and less than 1 is
  /// `usage`. An archive is read up to three times. Calls `willRead` with the path of each file
  /// before it is read, and `didFind` with each difference, which the result has too. An error that
  /// they throw ends the verification.
  public func verify(
    _ products: Set<ProductIdentifier> = [], bytesPerSecond: Int64? = nil,
    willRead: @escaping (_ path: String) throws -> Void = { _ in },
    didFind: @escaping (Finding) throws -> Void = { _ in }
  ) throws -> StoreVerification {
    if let bytesPerSecond, bytesPerSecond < 1 {
      throw ContentError(
        .usage, "Cannot read \(bytesPerSecond) bytes per second",
        remedy: "Use at least 1, or no limit")
    }
    return try verify(
      products, throttle: bytesPerSecond.map { ReadThrottle(bytesPerSecond: $0) },
      willRead: willRead, didFind: didFind)
  }

  /// Compares the files; a test can control the clock of `throttle`.
  package func verify(
    _ products: Set<ProductIdentifier>, throttle: ReadThrottle?,
    willRead: @escaping (_ path: String) throws -> Void,
    didFind: @escaping (Finding) throws -> Void
  ) throws -> StoreVerification {
    var verifier = StoreVerifier(
      folder: folder, metadata: try readMetadata(), throttle: throttle, willRead: willRead,
      didFind: didFind)
    try verifier.verify(products)
    return verifier.result
  }

  // MARK: Status

  /// Returns the state of the store.
  ///
  /// Reads only, and needs no keys. What can be pruned is for `keepDays`; throws `usage` for days
  /// that `prune` refuses. Throws an error if the metadata is damaged; if it is only older than the
  /// publication record, the result says so. The bytes of archives, indexes and single records are
  /// not read: `verify` does that.
  public func status(
    keepDays: Int = StoreFolder.standardKeepDays, now: Date = Date()
  ) throws -> StoreStatus {
    try checkKeepDays(keepDays)
    let record = try knownRecord()
    // Older metadata is reported, not refused.
    let metadata = try readMetadata(restored: true)
    let state = try self.record(record, comparedWith: metadata)
    let keys = try readableKeys()
    let survey = try StoreSurvey(of: folder)
    var catalog = CatalogSurvey(survey, consistent: metadata.root.usesConsistentSnapshots)
    var references = CatalogReferences()
    try metadata.forEachList(in: folder) {
      catalog.add($0)
      references.add($0, of: metadata.catalog)
    }
    let roles = try StoreRole.allCases.map { try status(of: $0, metadata, catalog, keys, now) }
    let due = try dueRoles(metadata, catalog, roles, state, now)
    return StoreStatus(
      products: catalog.products.sorted {
        $0.record.productIdentifier < $1.record.productIdentifier
      }, sizes: Self.sizes(catalog, survey), roles: roles, dueRoles: due, record: state,
      missingFiles: catalog.missingFiles.sorted(),
      prunable: try PrunableFiles(
        prunePlan(survey, metadata, references, keepDays: keepDays, now: now)),
      attention: attention(roles, due, state, catalog, now))
  }

  // MARK: Parts of the status

  private func record(_ record: PublicationRecord?, comparedWith metadata: StoreMetadata) throws
    -> StoreStatus.Record
  {
    guard let record else { return .unavailable }
    if try record.conflict(with: metadata.versions, in: metadataFolder) != nil { return .newer }
    return record.signed == metadata.versions ? .current : .older
  }

  private func status(
    of role: StoreRole, _ metadata: StoreMetadata, _ catalog: CatalogSurvey, _ keys: StoreKeys?,
    _ now: Date
  ) throws -> StoreStatus.Role {
    let root = metadata.root
    let current: (version: Int64, expires: Date) =
      switch role {
      case .root: (root.version, root.expires)
      case .targets:
        (
          metadata.targets.version,
          catalog.expires.values.reduce(metadata.targets.expires) { min($0, $1) }
        )
      case .snapshot: (metadata.snapshot.version, metadata.snapshot.expires)
      case .timestamp: (metadata.timestamp.version, metadata.timestamp.expires)
      }
    let listed = root.publicKeys(of: role.name)
    let (found, unreadable) = try keys?.inventory(of: role.name) ?? (usable: [], unreadable: 0)
    let present = listed.intersection(found)
    return StoreStatus.Role(
      role: role, version: current.version, expires: current.expires,
      isExpired: current.expires <= now,
      keys: StoreStatus.Keys(
        listed: listed.count, required: Int(clamping: root.roles[role.name]?.threshold ?? 1),
        present: present.count,
        missing: listed.subtracting(present).map(\.identifier).sorted(),
        unreadable: unreadable))
  }

  /// The roles that a refresh would sign now.
  ///
  /// A refresh refuses metadata that is older than the record. Without root keys, it renews only
  /// the other roles.
  private func dueRoles(
    _ metadata: StoreMetadata, _ catalog: CatalogSurvey, _ roles: [StoreStatus.Role],
    _ state: StoreStatus.Record, _ now: Date
  ) throws -> [StoreRole] {
    guard state != .newer else { return [] }
    let canSign = roles.contains { $0.role == .root && $0.keys.canSign }
    let isRootDue = metadata.isRootDue(now: now) && canSign
    let due = try metadata.due(now: now, expires: catalog.expires)
    return (isRootDue ? [.root] : []) + due.roles
  }

  private static func sizes(_ catalog: CatalogSurvey, _ survey: StoreSurvey) -> StoreStatus.Sizes {
    func sum(_ files: [StoreFile]) -> Int64 { files.reduce(0) { $0 + $1.bytes } }
    let listed = catalog.bytes
    return StoreStatus.Sizes(
      archives: listed[.archive] ?? 0, indexes: listed[.index] ?? 0,
      records: (listed[.record] ?? 0) + (listed[.content] ?? 0), metadata: sum(survey.metadata),
      targets: sum(survey.targets))
  }

  // MARK: Attention

  /// How long before its expiry a root that cannot be renewed here needs attention.
  private static let rootWarning: TimeInterval = 60 * 86_400

  private func attention(
    _ roles: [StoreStatus.Role], _ due: [StoreRole], _ state: StoreStatus.Record,
    _ catalog: CatalogSurvey, _ now: Date
  ) -> [ContentError] {
    var found = roles.compactMap { attention($0, due, now) }
    switch state {
    case .current, .unavailable: break
    case .older:
      found.append(
        ContentError(
          .storeDamaged,
          "The publication record is older than the metadata of \(folder.path)",
          remedy: "If another machine has published, this is intended: the next change updates the "
            + "record", subject: folder.path))
    case .newer:
      found.append(
        ContentError(
          .storeRolledBack,
          "The metadata of \(folder.path) is older than the publication record, or differs from it",
          remedy: "Restore the newest metadata from a mirror or a copy. If the files were restored "
            + "from a backup, confirm that", subject: folder.path))
    }
    let missing = catalog.missingFiles
    if let first = missing.min() {
      let count = missing.count == 1 ? "1 file" : "\(missing.count) files"
      found.append(
        ContentError(
          .storeDamaged,
          "\(count) of the catalog missing or with another length, such as \(folder.path)/\(first)",
          remedy: "Restore the files from a copy, or publish the same packages again",
          subject: first))
    }
    return found + catalog.errors
  }

  /// The error for metadata that has expired or should be renewed; nil if neither is true.
  private func attention(_ role: StoreStatus.Role, _ due: [StoreRole], _ now: Date)
    -> ContentError?
  {
    let isSoon = role.role == .root && role.expires < now.addingTimeInterval(Self.rootWarning)
    guard role.isExpired || isSoon || due.contains(role.role) else { return nil }
    let remedy =
      role.keys.canSign
      ? "Refresh the store"
      : "Refresh the store where its keys are: \(role.keys.present) of the \(role.keys.required) "
        + "required \(role.role.rawValue) keys are present"
    return ContentError(
      .metadataExpired,
      "The \(role.role.rawValue) metadata "
        + (role.isExpired
          ? "expired at \(role.expires.formatted(.iso8601))"
          : "expires at \(role.expires.formatted(.iso8601)), and should be renewed now"),
      remedy: remedy, subject: folder.path)
  }

  // MARK: Pruning

  /// The default number of days in which a catalog is kept after a newer one was published.
  public static let standardKeepDays = 30

  /// Removes files that no catalog of the last days refers to, and returns them.
  ///
  /// Keeps the current catalog, each catalog that was current in the last `keepDays` days, and all
  /// files that these list. So a client that has looked at the store in this time finds everything.
  /// Keeps every root, files that were written in these days, and files that are not the store's.
  ///
  /// Needs the publication record and the folder of the keys, but no key. Checks the metadata like
  /// a publication, and all lists of products. Throws `storeLocked` during a publication, and
  /// `usage` for less than one day or more than 36,500. If it is interrupted, the store is
  /// complete, and the next call removes the rest.
  @discardableResult
  public func prune(
    keepDays: Int = StoreFolder.standardKeepDays, now: Date = Date()
  ) throws -> PrunableFiles {
    try checkKeepDays(keepDays)
    return try writing(now) { metadata, _ in
      let plan = try prunePlan(metadata, keepDays: keepDays, now: now)
      try removeFiles(of: plan)
      return PrunableFiles(plan)
    }
  }

  /// Returns what `prune(keepDays:now:)` would remove.
  ///
  /// Needs no keys and changes nothing. A publication at the same time can change the result.
  /// Throws `usage` for the days that `prune` refuses.
  public func prunableFiles(
    keepDays: Int = StoreFolder.standardKeepDays, now: Date = Date()
  ) throws -> PrunableFiles {
    try checkKeepDays(keepDays)
    return try PrunableFiles(prunePlan(readMetadata(), keepDays: keepDays, now: now))
  }

  /// Throws `usage` for less than one day, or more than a century.
  private func checkKeepDays(_ days: Int) throws {
    guard !(1...36_500).contains(days) else { return }
    // A client reads the timestamp first, and the files that it names some time later.
    throw ContentError(
      .usage, "Cannot keep the catalogs of \(days) days", remedy: "Use 1 to 36500 days")
  }

  // MARK: Planning

  private func prunePlan(_ metadata: StoreMetadata, keepDays: Int, now: Date) throws -> PrunePlan {
    let survey = try StoreSurvey(of: folder)
    var references = CatalogReferences()
    try metadata.forEachList(in: folder) { references.add($0, of: metadata.catalog) }
    return try prunePlan(survey, metadata, references, keepDays: keepDays, now: now)
  }

  /// Decides about the files in `survey`; `current` has those that the current catalog refers to.
  private func prunePlan(
    _ survey: StoreSurvey, _ metadata: StoreMetadata, _ current: CatalogReferences, keepDays: Int,
    now: Date
  ) throws -> PrunePlan {
    let start = now.addingTimeInterval(-Double(keepDays) * 86_400)
    let folder = try metadataFolder
    let chain = try StoreMetadata.chain(in: folder, metadata.record, nil)
    let (catalogs, foreign) = try chain.catalogs(among: survey.metadata, in: folder)
    let (kept, others) = catalogs.divided(
      current: metadata.snapshot.version, since: start, now: now)
    var references = current
    try collect(kept, into: &references, metadata, chain)
    return try PrunePlan(
      survey,
      PrunePlan.Kept(
        snapshot: metadata.snapshot.version, targets: metadata.targets.version, catalogs: kept,
        others: others, foreign: foreign, bins: references.bins, references: references.files,
        start: start),
      obstacle: references.obstacle
    ) { try chain.hasSigned($0, $1, in: folder) }
  }

  /// Adds the files that `catalogs` refer to.
  ///
  /// `references` already has the lists of the current catalog.
  private func collect(
    _ catalogs: [CatalogVersion], into references: inout CatalogReferences,
    _ metadata: StoreMetadata, _ chain: RootChain
  ) throws {
    let folder = try metadataFolder
    try references.add(metadata.catalog, of: metadata.snapshot, in: self.folder)
    // Successive catalogs with bins often have the same targets metadata.
    var targets = metadata.targets
    for catalog in catalogs where catalog.snapshot != metadata.snapshot.version {
      let version = catalog.targets.version
      if references.contains(.targets, version) { continue }
      guard let snapshot: SnapshotRole = try chain.signed(catalog.snapshot, in: folder)?.role
      else {
        let name = MetadataDocument.name(.snapshot, catalog.snapshot)
        references.addIncomplete(nil, without: folder.path(of: name))
        continue
      }
      if version != targets.version {
        guard let role: TargetsRole = try chain.signed(version, in: folder)?.role else {
          let name = MetadataDocument.name(.targets, version)
          references.addIncomplete(snapshot, without: folder.path(of: name))
          continue
        }
        targets = role
      }
      try references.add(
        TrustedTargets(
          targets, of: chain.newest.with(snapshot), fetcher: FolderFetcher(self.folder)),
        of: snapshot, in: self.folder)
    }
  }

  // MARK: Removing

  /// Removes the files of `plan`, and folders that become empty.
  ///
  /// Each step is durable before the next one: the metadata that lists a file is removed before
  /// the file. The store must be locked.
  private func removeFiles(of plan: PrunePlan) throws {
    let metadata = try metadataFolder
    for files in plan.metadata where !files.isEmpty {
      for file in files { try metadata.removeFile(file.name) }
      try metadata.sync()
    }
    guard !plan.targetFiles.isEmpty else { return }
    let targets = try targetsFolder()
    var folders: Set<[String]> = []
    for file in plan.targetFiles {
      let path = Array(file.path.pathComponents(omittingEmpty: false).dropFirst().dropLast())
      try targets.directory(at: path).removeFile(file.name)
      for count in 1...max(1, path.count) { folders.insert(Array(path.prefix(count))) }
    }
    // The deepest folders first.
    for path in folders.sorted(by: { $0.count > $1.count }) {
      guard let name = path.last else { continue }
      try targets.directory(at: path.dropLast()).removeEmptyDirectory(name)
    }
  }
}
