import HostedModel
import HostedTrust
package import HostedFileIO
package import FoundationEssentials

/// Repairs inconsistent metadata, so that a publisher can continue.
extension StoreFolder {
  package static func repair(
    at path: String, keys: StoreKeyOptions = StoreKeyOptions(), now: Date = Date(),
    fileSystem: FileSystem = .real
  ) throws -> Int64? {
    let store = try StoreFolder(at: path, keys, creating: false, fileSystem)
    guard try store.folder.status(of: metadataName)?.kind == .directory else {
      throw ContentError.storeMissing(path)
    }
    return try store.whileLocked(now) { record, writer in
      do {
        let metadata = try StoreMetadata(
          reading: store.folder, record, restored: false, keys: writer.keys)
        try metadata.catalog.checkLists()
        return nil
      } catch let error as ContentError
        where error.group == .trust || [.storeDamaged, .storeMissing].contains(error.code)
      {
        let metadata = try StoreMetadata(
          repairing: store.folder, writer.folder, record, keys: writer.keys)
        try metadata.publish([:], with: writer)
        return metadata.targets.version
      }
    }
  }
}

extension StoreMetadata {
  /// Reads the newest snapshot and targets in `folder` that belong together, ignoring the
  /// timestamp.
  ///
  /// Only the newest root counts, because the keys of an earlier root may be stolen.
  fileprivate init(
    repairing store: Directory, _ folder: Directory, _ record: PublicationRecord?, keys: StoreKeys
  ) throws {
    let chain = try Self.chain(in: folder, record, keys).newestOnly
    var versions = [RoleName.root: try chain.document.signedVersion]
    let timestamp: VerifiedFile<TimestampRole>? = try chain.signed(0, in: folder)
    versions[.timestamp] = try timestamp?.document.signedVersion
    for version in try folder.versions(of: .targets) {
      guard let targets: VerifiedFile<TargetsRole> = try chain.signed(version, in: folder)
      else { continue }
      versions[.targets] = try targets.document.signedVersion
      break
    }
    for version in try folder.versions(of: .snapshot) {
      guard let snapshot: VerifiedFile<SnapshotRole> = try chain.signed(version, in: folder)
      else { continue }
      // Signed version numbers are not used again, even if they belong to no complete catalog.
      if versions[.snapshot] == nil { versions[.snapshot] = try snapshot.document.signedVersion }
      let listed = snapshot.role.targets
      guard
        let targets: VerifiedFile<TargetsRole> = try chain.signed(listed.version, in: folder),
        try targets.document.entry == listed
      else { continue }
      let catalog = TrustedTargets(
        targets.role, of: chain.newest.with(snapshot.role), fetcher: FolderFetcher(store))
      do {
        try catalog.checkLists()
      } catch let error as ContentError where error.group == .trust || error.code == .storeMissing {
        continue
      }
      self.init(
        root: chain.root,
        timestamp: TimestampRole(
          version: timestamp?.role.version ?? 0, expires: .distantPast,
          snapshot: try snapshot.document.entry),
        snapshot: snapshot.role, catalog: catalog, versions: versions,
        record: record ?? Self.newRecord(chain.first, versions))
      needsSigning = true
      return
    }
    throw ContentError(
      .storeDamaged, "No snapshot and targets that belong together found in \(folder.path)",
      remedy: "Restore the store's metadata from a copy", subject: folder.path)
  }

  /// The record of a store that has lost its own.
  ///
  /// Each publication signs the timestamp, but not always the snapshot. So the number of a lost
  /// timestamp is at least that of the snapshot.
  private static func newRecord(_ firstRoot: SignedVersion, _ versions: [RoleName: SignedVersion])
    -> PublicationRecord
  {
    let record = PublicationRecord(firstRoot: firstRoot, signed: versions)
    guard versions[.timestamp] == nil, let snapshot = versions[.snapshot] else { return record }
    return record.raising(to: [.timestamp: snapshot.version])
  }
}

extension TrustedTargets {
  /// Reads all bins; throws an error of the group `trust`, or `storeMissing`.
  fileprivate func checkLists() throws {
    for name in try lists { _ = try list(name) }
  }
}

extension Directory {
  /// The version numbers of the files of `role` in this folder, highest first.
  fileprivate func versions(of role: RoleName) throws -> [Int64] {
    try entries().compactMap { MetadataDocument.version(role, in: $0.name) }.sorted(by: >)
  }
}

extension ContentError {
  /// The folder at `path` is not a store, or its timestamp is lost.
  static func storeMissing(_ path: String) -> ContentError {
    ContentError(
      .storeMissing, "Cannot open the store at \(path): metadata/timestamp.json not found",
      remedy: "Check the path, or create a store there. If the file was lost, repair the store",
      subject: path)
  }
}
