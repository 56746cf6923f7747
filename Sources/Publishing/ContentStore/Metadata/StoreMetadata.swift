import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials

/// A store's current metadata, and the changes to it.
struct StoreMetadata {
  var root: RootRole
  let timestamp: TimestampRole
  var snapshot: SnapshotRole
  /// The products, in one list or in bins.
  let catalog: TrustedTargets
  var versions: [RoleName: SignedVersion]
  /// The publication record, which includes this metadata.
  var record: PublicationRecord
  /// Whether all metadata must be signed again: after an interrupted rotation, a restored backup
  /// or a repair.
  var needsSigning = false

  /// The targets metadata: the only list of products, or the bins.
  var targets: TargetsRole { catalog.role }

  private static let day: TimeInterval = 86_400
  static let rootLifetime = 3650 * day
  static let lifetime = 365 * day
  static let timestampLifetime = 90 * day
}

extension StoreMetadata {
  /// Reads and verifies the metadata of the store in `store`, even if it has expired.
  ///
  /// Bins are read and verified when they are needed. Only metadata that is signed under the root
  /// in `record` counts. Without a record, the store's first root is used, if `keys` confirm it or
  /// are nil. Throws `storeRolledBack` if the metadata is older than the record, unless `restored`.
  init(
    reading store: Directory, _ record: PublicationRecord?, restored: Bool, keys: StoreKeys?
  ) throws {
    let folder = try store.directory(StoreFolder.metadataName)
    let chain = try Self.chain(in: folder, record, keys)
    let root = [RoleName.root: try chain.document.signedVersion]
    var found: StoreMetadata
    do {
      found = try StoreMetadata(reading: store, folder, chain, trusting: chain.newest)
    } catch let error as ContentError where error.code == .signatureInvalid {
      // A rotation writes its root before the metadata of the new keys. The old keys may be stolen,
      // but metadata under an earlier root must match the record.
      let earlier = chain.earlier.lazy.compactMap {
        try? StoreMetadata(reading: store, folder, chain, trusting: $0)
      }.first
      guard let earlier, restored || record?.isCurrent(earlier.versions) != false else {
        throw error
      }
      found = earlier
      found.needsSigning = true
    }
    if let record {
      if let (role, conflicting) = try record.conflict(with: found.versions, in: folder) {
        guard restored else {
          throw ContentError.storeRolledBack(folder, role, conflicting, record)
        }
        // Keep the recorded numbers, so that the next signed versions are higher.
        found.record = record.signing(root)
        found.needsSigning = true
      } else {
        found.record = record.signing(found.versions)
      }
    }
    // A rotation that was interrupted before its root has given the bins to keys of that root.
    if let bins = found.targets.delegations?.bins, bins.keys != found.root.roles[.targets] {
      found.needsSigning = true
    }
    self = found
  }

  /// The valid chain of roots in `folder`, starting at the root in `record`.
  static func chain(in folder: Directory, _ record: PublicationRecord?, _ keys: StoreKeys?) throws
    -> RootChain
  {
    let chain = try RootChain(in: folder, from: record?.firstRoot)
    let root = [RoleName.root: try chain.document.signedVersion]
    if let record, record.conflict(with: root) != nil {
      // Roots have consecutive versions, so signing above the recorded version is impossible.
      throw ContentError.storeRolledBack(folder, .root, root[.root], record)
    }
    guard record == nil, let keys else { return chain }
    return try confirmed(chain, keys, folder)
  }

  /// The roots of a store without a record, if the available keys have signed for them.
  ///
  /// A root key proves its root. If no root keys are available, metadata that the other keys have
  /// signed counts, but no other keys of the root count.
  private static func confirmed(_ chain: RootChain, _ keys: StoreKeys, _ folder: Directory) throws
    -> RootChain
  {
    let rootKeys = try keys.inventory(of: .root).usable
    guard rootKeys.isEmpty else {
      if try TrustedMetadata.isRoot(chain.document.bytes, signedByAnyOf: rootKeys) { return chain }
      throw ContentError.foreignMetadata(
        .root, folder.path(of: chain.document.name),
        ContentError(.signatureInvalid, "Not signed by the store's root keys", remedy: ""))
    }
    let roles: [RoleName] = [.targets, .snapshot, .timestamp]
    let known = try roles.reduce(into: Set()) { known, role in
      _ = try keys.signer(role, of: chain.root)
      known.formUnion(try keys.inventory(of: role).usable)
    }
    return try chain.limited(to: known, for: roles)
  }

  private init(
    reading store: Directory, _ folder: Directory, _ chain: RootChain,
    trusting start: TrustedMetadata
  ) throws {
    var trusted = start
    var documents = [chain.document]
    func read<Found: Role>(_ version: Int64, _ verify: ([UInt8]) throws -> Found?) throws -> Found {
      do {
        let (bytes, found) = try folder.metadata(Found.type, version, verify)
        guard let found else {
          throw ContentError(
            .inconsistent, "No metadata after reading the store", remedy: "Report a bug")
        }
        documents.append(
          MetadataDocument(role: .top(Found.type), version: found.version, bytes: bytes))
        return found
      } catch let error as ContentError where error.code == .fileMissing {
        let name = MetadataDocument.name(.top(Found.type), version)
        throw ContentError.metadataLost(folder.path(of: name), error)
      }
    }
    // Expired metadata must be readable, so that the publisher can refresh it.
    let never = Date.distantPast
    let timestamp = try read(0) { bytes -> TimestampRole? in
      _ = try trusted.update(timestamp: bytes, now: never)
      return trusted.timestamp
    }
    let snapshot = try read(timestamp.snapshot.version) { bytes -> SnapshotRole? in
      try trusted.update(snapshot: bytes, now: never)
      return trusted.snapshot
    }
    let targets = try read(snapshot.targets.version) { bytes -> TargetsRole? in
      try trusted.update(targets: bytes, now: never)
    }
    let versions = try documents.versions
    self.init(
      root: chain.root, timestamp: timestamp, snapshot: snapshot,
      catalog: TrustedTargets(targets, of: trusted, fetcher: FolderFetcher(store)),
      versions: versions, record: PublicationRecord(firstRoot: chain.first, signed: versions))
  }

  // MARK: Creating

  /// Writes the first root, and empty metadata of version 1.
  static func create(_ plan: StoreKeyPlan, with writer: MetadataWriter) throws {
    let keys = try NewKeys(StoreRole.allCases, plan, forRoot: 1, in: writer.keys)
    let root = try RootRole(
      version: 1, expires: writer.time(after: rootLifetime), keys: keys.publicKeys,
      thresholds: keys.thresholds)
    let rootBytes = try RoleSigner(keys: keys.root).sign(root)
    let targets = try writer.sign(
      TargetsRole(
        version: 1, expires: writer.time(after: lifetime), targets: [:],
        details: ListDetails(role: .targets, length: 0, digest: Digest(of: []))), of: [root])
    let snapshot = try writer.sign(
      SnapshotRole(
        version: 1, expires: writer.time(after: lifetime), targets: targets.entry), of: [root])
    let timestamp = try writer.sign(
      TimestampRole(
        version: 1, expires: writer.time(after: timestampLifetime), snapshot: snapshot.entry),
      of: [root])
    try writer.create(
      [targets, snapshot, timestamp],
      firstRoot: MetadataDocument(role: .root, version: 1, bytes: rootBytes))
  }

  static func number(after version: Int64, _ role: RoleName) throws -> Int64 {
    // The maximum number is refused, because no version could follow it.
    guard version < .max - 1 else {
      throw ContentError(
        .storeDamaged, "Version \(version) of the \(role.rawValue) metadata is the last possible",
        remedy: "Create a new store, and give its root to the clients", subject: role.fileName)
    }
    return version + 1
  }
}

extension ContentError {
  /// The file of `role` is older than the record, or a different file with the same version.
  fileprivate static func storeRolledBack(
    _ folder: Directory, _ role: RoleName, _ found: SignedVersion?, _ record: PublicationRecord
  ) -> ContentError {
    let version = found?.version ?? 0
    let signed = record.signed[role]?.version ?? 0
    let path = folder.path(of: MetadataDocument.name(.top(role), version))
    return ContentError(
      .storeRolledBack,
      version < signed
        ? "\(path), version \(version), is the newest \(role.rawValue) metadata, but version "
          + "\(signed) was already signed"
        : "\(path) is not the last signed version \(signed) of the \(role.rawValue) metadata"
          + ": another machine may have signed the same version",
      remedy: role == .root
        ? "Restore version \(signed) of the root from a mirror or a copy. Clients need every root"
        : "Restore the newest metadata from a mirror or a copy, and publish what it lacks. If "
          + "these files are intended, confirm that: they are then signed again with higher "
          + "version numbers",
      subject: path)
  }

  /// A file that other metadata needs is missing in the store's folder.
  static func metadataLost(_ path: String, _ reason: ContentError) -> ContentError {
    ContentError(
      .storeDamaged, "The store's metadata file \(path) not found",
      remedy: "Restore the file from a copy, or repair the store", subject: path,
      cause: reason.cause)
  }
}
