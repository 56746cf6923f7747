import FoundationEssentials
import HostedFileIO
import HostedModel
import HostedTrust

/// Which files of a store no catalog of the last days refers to.
///
/// Pure: decides by a listing and by the catalogs that are kept.
struct PrunePlan {
  /// The files of metadata to remove, in groups in the order of removal.
  ///
  /// A file is removed after all files that list it. A crash then leaves files that no catalog
  /// refers to, and no catalog without its files, from which a repair could continue.
  let metadata: [[StoreFile]]
  /// Archives, indexes, records and entries of contents that no kept catalog refers to.
  let targetFiles: [StoreFile]
  /// Files that are not a store's, by name or signature; they are not removed.
  let unknown: [String]
  /// Why no records file and no file of `targets` is removed; nil if they can be.
  let obstacle: String?

  /// The catalogs that clients may use, and what they refer to.
  struct Kept {
    /// The version of the current snapshot.
    let snapshot: Int64
    /// The version of the current targets.
    let targets: Int64
    let catalogs: [CatalogVersion]
    let others: [CatalogVersion]
    /// The paths of snapshots that the store's keys have not signed.
    let foreign: Set<String>
    /// The paths of the bins that kept catalogs use.
    let bins: Set<String>
    /// The paths of all records files and files of `targets` that kept catalogs refer to; nil if
    /// unknown: then none of these files is removed.
    let references: Set<String>?
    /// Files that were written at this time or later are not removed: they may be the files of a
    /// catalog that is uploaded next.
    let start: Date

    fileprivate func isOld(_ file: StoreFile) -> Bool { file.modified < start }

    fileprivate func isUnused(_ file: StoreFile) -> Bool {
      references?.contains(file.path) == false && isOld(file)
    }
  }

  /// Plans for the files of `survey`.
  ///
  /// `isSigned` tells whether the store's keys have signed a version of targets metadata or of a
  /// bin. It is called for bins, and for targets metadata that no snapshot lists, such as from an
  /// interrupted publication.
  init(
    _ survey: StoreSurvey, _ kept: Kept, obstacle: String? = nil,
    isSigned: (_ role: MetadataName, _ version: Int64) throws -> Bool
  ) rethrows {
    var (snapshots, targets, bins): ([StoreFile], [StoreFile], [StoreFile]) = ([], [], [])
    var (recordsFiles, targetFiles): ([StoreFile], [StoreFile]) = ([], [])
    var unknown = survey.others
    let keptSnapshots = Set(kept.catalogs.map(\.snapshot))
    let keptTargets = Set(kept.catalogs.map(\.targets.version))
    // The lengths of targets metadata that other snapshots list.
    var former: [Int64: Int64] = [:]
    for catalog in kept.others { former[catalog.targets.version] = catalog.targets.length }
    for file in survey.metadata {
      if let version = MetadataDocument.version(.snapshot, in: file.name) {
        if kept.foreign.contains(file.path) {
          unknown.append(file.path)
        } else if version < kept.snapshot, !keptSnapshots.contains(version) {
          snapshots.append(file)
        }
      } else if let version = MetadataDocument.version(.targets, in: file.name) {
        guard version < kept.targets, !keptTargets.contains(version) else { continue }
        let isFormer = former[version] == file.bytes
        guard isFormer || kept.isOld(file) else { continue }
        let isOurs = try isFormer || isSigned(.targets, version)
        if isOurs { targets.append(file) } else { unknown.append(file.path) }
      } else if let (bin, version) = MetadataDocument.bin(in: file.name) {
        // The version of a bin is the number of the first snapshot that lists it.
        guard version < kept.snapshot, !kept.bins.contains(file.path), kept.isOld(file)
        else { continue }
        if try isSigned(bin, version) { bins.append(file) } else { unknown.append(file.path) }
      } else if RecordsFile.digest(inName: file.name) != nil {
        // Known by its name, like the files of `targets`: none of them has a signature.
        if kept.isUnused(file) { recordsFiles.append(file) }
      } else if MetadataDocument.version(.root, in: file.name) == nil,
        file.name != RoleName.timestamp.fileName
      {
        unknown.append(file.path)
      }
    }
    for file in survey.targets where kept.references?.contains(file.path) != true {
      if !StoreSurvey.isTarget(file.path) {
        unknown.append(file.path)
      } else if kept.isUnused(file) {
        targetFiles.append(file)
      }
    }
    metadata = [snapshots, targets, bins, recordsFiles]
    self.targetFiles = targetFiles
    self.unknown = unknown.sorted()
    self.obstacle = obstacle
  }

  /// All files to remove, in the order of removal.
  var files: [StoreFile] { metadata.flatMap { $0 } + targetFiles }
}

/// The files that the kept catalogs of a store refer to.
///
/// Many catalogs have the same lists, so each version of a list is read once. Only paths are kept
/// in memory.
struct CatalogReferences {
  private(set) var bins: Set<String> = []
  /// Why some records files and files of `targets` are unknown; nil if all are known.
  private(set) var obstacle: String?
  private var paths: Set<String> = []
  private var lists: Set<String> = []

  /// The paths of records files and of files of `targets`; nil if some are unknown.
  var files: Set<String>? { obstacle == nil ? paths : nil }

  func contains(_ name: MetadataName, _ version: Int64) -> Bool {
    lists.contains(name.path(version: version))
  }

  mutating func add(_ contents: ListContents, of catalog: TrustedTargets) {
    let (name, role) = (contents.list.name, contents.list.role)
    let path = name.path(version: role.version)
    lists.insert(path)
    if name != .targets { bins.insert(path) }
    for file in contents.files(consistent: catalog.usesConsistentSnapshots) {
      paths.formUnion(file.paths)
    }
    if let error = contents.errors.first { add(obstacle: error.message) }
    if name != .targets, role.delegations != nil {
      add(obstacle: "\(path) delegates to other roles")
    }
  }

  /// Adds the catalog of `snapshot`.
  ///
  /// A snapshot also lists bins that its targets metadata does not use, from when there were fewer
  /// bins: clients refuse a snapshot without a file that an earlier one listed. But no client
  /// fetches them, so their files are only kept for catalogs whose targets metadata uses them.
  mutating func add(
    _ catalog: TrustedTargets, of snapshot: SnapshotRole, in store: Directory
  ) throws {
    if let delegations = catalog.role.delegations {
      if delegations.bins == nil {
        let path = MetadataName.targets.path(version: catalog.version)
        add(obstacle: "\(path) delegates to other roles")
      }
      // This version of the software does not use them, but another one may.
      for (name, file) in catalog.targets {
        paths.formUnion(
          TrustedTargets.storePaths(
            of: name, file, consistent: catalog.usesConsistentSnapshots))
      }
    }
    for name in try catalog.lists {
      let listed = name == .targets ? catalog.version : snapshot.files[name.fileName]?.version
      guard let version = listed else {
        let path = MetadataName.snapshot.path(version: snapshot.version)
        add(obstacle: "\(path) does not list \(name.text)")
        continue
      }
      if !contains(name, version) { try add(name, version, of: catalog, in: store) }
    }
  }

  private mutating func add(
    _ name: MetadataName, _ version: Int64, of catalog: TrustedTargets, in store: Directory
  ) throws {
    let path = name.path(version: version)
    if name != .targets { bins.insert(path) }
    do {
      try add(ListContents(catalog.list(name), of: catalog), of: catalog)
    } catch let error as ContentError
      where error.group == .trust || [.storeMissing, .limitExceeded].contains(error.code)
    {
      add(obstacle: "\(store.path(of: path)) is missing or damaged")
    }
  }

  /// Adds a catalog whose file at `path` is missing or damaged.
  ///
  /// Without its targets metadata, all bins that `snapshot` lists may be needed.
  mutating func addIncomplete(_ snapshot: SnapshotRole?, without path: String) {
    add(obstacle: "\(path) is missing or damaged")
    for (name, file) in snapshot?.files ?? [:] {
      bins.insert("\(MetadataName.folder)/\(file.version).\(name)")
    }
  }

  private mutating func add(obstacle: String) { self.obstacle = self.obstacle ?? obstacle }
}

/// A snapshot that the store's keys have signed, which clients may have seen as a catalog.
struct CatalogVersion: Hashable {
  let snapshot: Int64
  let targets: MetadataFile
  /// When it was written.
  ///
  /// The later of two times: the signing, by the publisher's clock, and the last change of the
  /// file. A copy of the store without times can only make it later, which keeps more files.
  let written: Date
}

extension [CatalogVersion] {
  /// Divides the catalogs of a store into those that clients may still use, and the others.
  ///
  /// The first were current at `start` or later, or have higher versions than `current`. A catalog
  /// is current until the timestamp names the next one, which is written directly before. So it
  /// stopped being current when its successor was written. An interrupted publication leaves a
  /// snapshot that was never current: the next change sets its time to its own
  /// (`postponeLaterSnapshots`), so that the catalog before it is not taken for an older one.
  func divided(current: Int64, since start: Date, now: Date) -> (kept: Self, others: Self) {
    let catalogs = sorted { $0.snapshot < $1.snapshot }
    // A time after now is from a clock that was ahead, and would keep all later catalogs. The next
    // catalog was written later, so its time counts instead.
    var times = catalogs.map(\.written)
    for index in times.indices.reversed() where times[index] > now {
      times[index] = index + 1 < times.count ? times[index + 1] : now
    }
    var (kept, others): (Self, Self) = ([], [])
    var written = Date.distantPast
    for (index, catalog) in catalogs.enumerated() {
      // A higher version was written later, even if a clock was set back.
      written = Swift.max(written, times[index])
      let isOld =
        catalog.snapshot < current && index + 1 < catalogs.count
        && Swift.max(written, times[index + 1]) < start
      if isOld { others.append(catalog) } else { kept.append(catalog) }
    }
    return (kept, others)
  }
}

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
