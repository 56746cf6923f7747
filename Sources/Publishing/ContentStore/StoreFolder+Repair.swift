import ContentModel
import ContentTrust
import FileIO
package import FoundationEssentials

/// Repairs inconsistent metadata, so that a publisher can continue.
extension StoreFolder {
  package static func repair(
    at path: String, keys: StoreKeyOptions = StoreKeyOptions(), now: Date = Date()
  ) throws -> Int64? {
    let store = try StoreFolder(at: path, keys, creating: false, .real)
    guard try store.folder.status(of: metadataName)?.kind == .directory else {
      throw ContentError.storeMissing(path)
    }
    return try store.whileLocked(now) { record, writer in
      do {
        _ = try StoreMetadata(
          reading: store.folder, record, restored: false, keys: writer.keys
        ).checkLists()
        return nil
      } catch let error as ContentError
        where error.group == .trust || [.storeDamaged, .storeMissing].contains(error.code)
      {
        let metadata = try StoreMetadata(
          repairing: store.folder, writer.folder, record, keys: writer.keys)
        try metadata.publish([:], .everything, with: writer)
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
    let chain = try Self.chain(in: folder, record, keys)
    var versions = [RoleName.root: try chain.document.signedVersion]
    let timestamp: (TimestampRole, MetadataDocument)? = try chain.signed(0, in: folder)
    versions[.timestamp] = try timestamp?.1.signedVersion
    for version in try folder.versions(of: .targets) {
      guard let targets: (TargetsRole, MetadataDocument) = try chain.signed(version, in: folder)
      else { continue }
      versions[.targets] = try targets.1.signedVersion
      break
    }
    for version in try folder.versions(of: .snapshot) {
      guard let snapshot: (SnapshotRole, MetadataDocument) = try chain.signed(version, in: folder)
      else { continue }
      // Signed version numbers are not used again, even if they belong to no complete catalog.
      if versions[.snapshot] == nil { versions[.snapshot] = try snapshot.1.signedVersion }
      let promise = snapshot.0.targets
      guard
        let targets: (TargetsRole, MetadataDocument) = try chain.signed(
          promise.version, in: folder),
        try targets.1.promise == promise
      else { continue }
      let catalog = TrustedTargets(
        targets.0, of: chain.newest.with(snapshot.0), fetcher: FolderFetcher(store))
      guard try catalog.hasAllLists() else { continue }
      self.init(
        root: chain.root,
        timestamp: TimestampRole(
          version: timestamp?.0.version ?? 0, expires: .distantPast,
          snapshot: try snapshot.1.promise),
        snapshot: snapshot.0, catalog: catalog, versions: versions,
        record: record
          ?? PublicationRecord(firstRoot: chain.first, signed: versions))
      return
    }
    throw ContentError(
      .storeDamaged, "No snapshot and targets that belong together found in \(folder.path)",
      remedy: "Restore the store's metadata from a copy", subject: folder.path)
  }
}

extension RootChain {
  /// Returns metadata of this version in `folder`; nil if the newest root does not confirm it.
  fileprivate func signed<Signed: Role>(_ version: Int64, in folder: Directory) throws
    -> (Signed, MetadataDocument)?
  {
    do {
      var role: Signed?
      let bytes = try folder.metadata(Signed.type, version) { role = try newest.verified($0) }
      guard let role, Signed.type == .timestamp || role.version == version else { return nil }
      return (role, MetadataDocument(role: .top(Signed.type), version: role.version, bytes: bytes))
    } catch let error as ContentError
      where error.group == .trust || [.fileMissing, .limitExceeded].contains(error.code)
    {
      return nil
    }
  }
}

extension StoreMetadata {
  /// Reads all bins.
  ///
  /// Throws an error of the group `trust`, or `storeMissing`, if one is damaged or lost.
  fileprivate func checkLists() throws {
    for name in try catalog.lists { _ = try catalog.list(name) }
  }
}

extension TrustedTargets {
  /// Whether all bins exist as the snapshot lists them.
  fileprivate func hasAllLists() throws -> Bool {
    do {
      for name in try lists { _ = try list(name) }
      return true
    } catch let error as ContentError where error.group == .trust || error.code == .storeMissing {
      return false
    }
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
