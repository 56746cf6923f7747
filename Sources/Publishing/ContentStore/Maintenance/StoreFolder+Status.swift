import HostedModel
import HostedTrust
import HostedFileIO
public import FoundationEssentials

extension StoreFolder {
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

  // MARK: Parts

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
      case .targets: (metadata.targets.version, catalog.earliestExpiry(with: metadata.targets))
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
}
