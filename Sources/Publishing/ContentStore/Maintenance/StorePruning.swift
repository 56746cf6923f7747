import HostedModel
import HostedTrust
import HostedFileIO
public import FoundationEssentials

/// The files of a store that no catalog of the last days refers to.
public struct PrunableFiles: Hashable, Codable, Sendable {
  /// A file of a store.
  public struct File: Hashable, Codable, Sendable {
    /// The path below the store's folder, such as `metadata/3.targets.json`.
    public let path: String
    /// The length in bytes.
    public let bytes: Int64
  }

  /// The files, in the order of their removal.
  public let files: [File]
  /// Paths that are not a store's, by name or signature; they are never removed.
  public let unknown: [String]
  /// Why no records file and no file of `targets` can be removed; nil if they can.
  ///
  /// A catalog of the last days is missing or damaged, or delegates to other roles. So it is
  /// unknown which files clients still use.
  public let obstacle: String?

  /// The length of all files, in bytes.
  public var bytes: Int64 { files.reduce(0) { $0 + $1.bytes } }

  init(_ plan: PrunePlan) {
    files = plan.files.map { File(path: $0.path, bytes: $0.bytes) }
    unknown = plan.unknown
    obstacle = plan.obstacle
  }
}

extension StoreFolder {
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
  func checkKeepDays(_ days: Int) throws {
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
  func prunePlan(
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
