import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// A snapshot that the store's keys have signed, which clients may have seen as a catalog.
struct CatalogVersion: Hashable {
  /// The version of the snapshot.
  let snapshot: Int64
  /// What it lists as targets.
  let targets: MetadataFile
  /// When it was written.
  ///
  /// The later of two times: the signing, by the publisher's clock, and the last change of the
  /// file. A copy of the store without times can only make it later, which keeps more files.
  let written: Date
}

/// The catalogs of a store, and which of them clients may still use.
///
/// A catalog is current until the timestamp names the next one, which is written directly before.
/// So it stopped being current when its successor was written. An interrupted publication leaves
/// a snapshot that was never current: the next change sets its time to its own
/// (`postponeLaterSnapshots`), so that the catalog before it is not taken for an older one.
struct CatalogHistory {
  private let catalogs: [CatalogVersion]
  private let current: Int64

  init(_ catalogs: [CatalogVersion], current: Int64) {
    self.catalogs = catalogs.sorted { $0.snapshot < $1.snapshot }
    self.current = current
  }

  /// The catalogs that were current at `start` or later, and those with higher versions than the
  /// current one.
  func kept(since start: Date) -> [CatalogVersion] {
    var kept: [CatalogVersion] = []
    var written = Date.distantPast
    for (index, catalog) in catalogs.enumerated() {
      // A higher version was written later, even if a clock was set back.
      written = max(written, catalog.written)
      let isOld =
        catalog.snapshot < current && index + 1 < catalogs.count
        && max(written, catalogs[index + 1].written) < start
      if !isOld { kept.append(catalog) }
    }
    return kept
  }

  /// The catalogs that are not in `kept`.
  func others(than kept: [CatalogVersion]) -> [CatalogVersion] {
    let versions = Set(kept.map(\.snapshot))
    return catalogs.filter { !versions.contains($0.snapshot) }
  }
}

extension RootChain {
  /// Whether the store's keys have signed this version of targets metadata or of a bin.
  func hasSigned(_ name: MetadataName, _ version: Int64, in folder: Directory) throws -> Bool {
    // The targets keys sign bins too. A bin names itself, so it is not another file.
    guard let role: TargetsRole = try signed(version, of: name, in: folder)?.role else {
      return false
    }
    return name == .targets || role.details?.role == name.text
  }

  /// The catalogs among `files`, and the paths of snapshots that the store's keys have not signed.
  func catalogs(among files: [StoreFile], in folder: Directory) throws -> (
    [CatalogVersion], foreign: Set<String>
  ) {
    var catalogs: [CatalogVersion] = []
    var foreign: Set<String> = []
    for file in files {
      guard let version = MetadataDocument.version(.snapshot, in: file.name) else { continue }
      guard let role: SnapshotRole = try signed(version, in: folder)?.role else {
        foreign.insert(file.path)
        continue
      }
      catalogs.append(
        CatalogVersion(
          snapshot: version, targets: role.targets,
          written: max(role.expires.addingTimeInterval(-StoreMetadata.lifetime), file.modified)))
    }
    return (catalogs, foreign)
  }
}

extension StoreMetadata {
  /// Sets the time of snapshots above the current version to now.
  ///
  /// They are from an interrupted publication, or from after a backup that was restored. Until now,
  /// the current snapshot is current. See `CatalogHistory`.
  func postponeLaterSnapshots(_ writer: MetadataWriter) throws {
    let highest = record.highest(.snapshot)
    guard highest > snapshot.version else { return }
    let folder = writer.folder
    for entry in try folder.entries() where entry.kind == .file {
      guard let version = MetadataDocument.version(.snapshot, in: entry.name),
        version > snapshot.version, version <= highest
      else { continue }
      do {
        try folder.file(entry.name).setModified(writer.now.timeIntervalSince1970)
      } catch let error as ContentError where error.code == .notPermitted {
        // Only the owner may set the time. A new file has the current time.
        let bytes = try folder.contents(of: entry.name, limit: RoleName.snapshot.limit)
        try ServedFolder(folder).replaceFile(entry.name) { try $0.write(bytes) }
      }
    }
  }
}
