import HostedModel
import HostedTrust
import HostedFileIO

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
