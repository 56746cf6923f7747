import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials

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
  /// the current snapshot is current. See `divided(current:since:now:)`.
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
        try folder.replaceServedFile(entry.name) { try $0.write(bytes) }
      }
    }
  }
}
