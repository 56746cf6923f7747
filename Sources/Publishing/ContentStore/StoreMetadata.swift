import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// A store's current metadata, and the step to the next one.
struct StoreMetadata {
  /// The newest root.
  var root: RootRole
  let timestamp: TimestampRole
  let snapshot: SnapshotRole
  let targets: TargetsRole
  /// What the keys have signed, this metadata included.
  var record: PublicationRecord
  /// Whether all of it must be signed again: a rotation was interrupted, or older metadata was
  /// restored.
  var needsSigning = false
  /// The versions that are in the store.
  var versions: [RoleName: SignedVersion]

  private static let day: TimeInterval = 86_400
  static let rootLifetime = 3650 * day
  static let lifetime = 365 * day
  private static let timestampLifetime = 90 * day

  /// Reads and verifies the metadata in `folder`; expired metadata is read too.
  ///
  /// Only metadata that is signed under the root that `record` pins counts. Without a record, the
  /// store's first root is taken, as far as `keys` confirm it; nil when there are none to ask.
  /// Metadata that is older than the record is `storeRolledBack` unless it was `restored` on
  /// purpose.
  init(
    reading folder: Directory, _ record: PublicationRecord?, restored: Bool, keys: StoreKeys?
  ) throws {
    let chain = try Self.chain(in: folder, record, keys)
    let root = [RoleName.root: try chain.document.signedVersion]
    var found: StoreMetadata
    do {
      found = try StoreMetadata(reading: folder, chain, trusting: chain.newest)
    } catch let error as ContentError where error.code == .signatureInvalid {
      // A rotation writes its root before what the new keys sign. With the old keys, which may be
      // stolen, nobody can add to what was recorded before.
      let earlier = chain.earlier.lazy.compactMap {
        try? StoreMetadata(reading: folder, chain, trusting: $0)
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
        // The recorded numbers stay, so that what is signed next has higher ones.
        found.record = record.signing(root)
        found.needsSigning = true
      } else {
        found.record = record.signing(found.versions)
      }
    }
    self = found
  }

  /// The roots in `folder` that count, which start where `record` says.
  static func chain(in folder: Directory, _ record: PublicationRecord?, _ keys: StoreKeys?) throws
    -> RootChain
  {
    let chain = try RootChain(in: folder, from: record?.firstRoot)
    let root = [RoleName.root: try chain.document.signedVersion]
    if let record, record.conflict(with: root) != nil {
      // No number can be left out between roots, so nothing can be signed above the recorded one.
      throw ContentError.storeRolledBack(folder, .root, root[.root], record)
    }
    guard record == nil, let keys else { return chain }
    return try confirmed(chain, keys, folder)
  }

  /// The roots of a store without a record, if the keys that are here have signed for them.
  ///
  /// A root key proves its root. If all root keys were carried away, what the other keys have
  /// signed counts, and nothing that a root names besides them.
  private static func confirmed(_ chain: RootChain, _ keys: StoreKeys, _ folder: Directory) throws
    -> RootChain
  {
    let rootKeys = try keys.publicKeys(of: .root)
    guard rootKeys.isEmpty else {
      if try TrustedMetadata.isRoot(chain.document.bytes, signedByAnyOf: rootKeys) { return chain }
      throw ContentError.foreignMetadata(
        .root, folder.path(of: chain.document.name),
        ContentError(.signatureInvalid, "The store's root keys did not sign it", remedy: ""))
    }
    let roles: [RoleName] = [.targets, .snapshot, .timestamp]
    let known = try roles.reduce(into: Set()) { known, role in
      _ = try keys.signer(role, of: chain.root)
      known.formUnion(try keys.publicKeys(of: role))
    }
    return try chain.limited(to: known, for: roles)
  }

  private init(
    reading folder: Directory, _ chain: RootChain, trusting start: TrustedMetadata
  ) throws {
    var trusted = start
    var documents = [chain.document]
    func read(_ role: RoleName, _ version: Int64?, _ verify: ([UInt8]) throws -> Int64?) throws {
      var found: Int64?
      let bytes: [UInt8]
      do {
        bytes = try folder.metadata(role, version ?? 0) { found = try verify($0) }
      } catch let error as ContentError where error.code == .fileMissing {
        throw ContentError.metadataLost(
          folder.path(of: MetadataDocument.name(role, version ?? 0)), error)
      }
      documents.append(MetadataDocument(role: role, version: found ?? 0, bytes: bytes))
    }
    // An expired store must be readable, or nobody could refresh it.
    let never = Date.distantPast
    try read(.timestamp, nil) {
      _ = try trusted.update(timestamp: $0, now: never)
      return trusted.timestamp?.version
    }
    try read(.snapshot, trusted.timestamp?.snapshot.version) {
      try trusted.update(snapshot: $0, now: never)
      return trusted.snapshot?.version
    }
    try read(.targets, trusted.snapshot?.targets.version) {
      try trusted.update(targets: $0, now: never)
      return trusted.targets?.version
    }
    guard let timestamp = trusted.timestamp, let snapshot = trusted.snapshot,
      let targets = trusted.targets
    else {
      throw ContentError(
        .inconsistent, "The store's metadata was read without a result", remedy: "Report it")
    }
    let versions = try documents.versions
    self.init(
      root: chain.root, timestamp: timestamp, snapshot: snapshot, targets: targets,
      versions: versions, record: PublicationRecord(firstRoot: chain.first, signed: versions))
  }

  init(
    root: RootRole, timestamp: TimestampRole, snapshot: SnapshotRole, targets: TargetsRole,
    versions: [RoleName: SignedVersion], record: PublicationRecord
  ) {
    self.root = root
    self.timestamp = timestamp
    self.snapshot = snapshot
    self.targets = targets
    self.versions = versions
    self.record = record
  }

  // MARK: Creating

  /// Writes a first root, and empty metadata of version 1.
  static func create(_ plan: StoreKeyPlan, with writer: MetadataWriter) throws {
    var made: [RoleName: [PublicKey]] = [:]
    var rootKeys: [SigningKey] = []
    var thresholds: [RoleName: Int64] = [:]
    for role in StoreRole.allCases {
      let (count, threshold) = try plan.numbers(of: role)
      let signing = try writer.keys.make(role.name, count, plan.type.kind, forRoot: 1)
      made[role.name] = signing.map(\.publicKey)
      thresholds[role.name] = Int64(threshold)
      if role == .root { rootKeys = signing }
    }
    let root = try RootRole(
      version: 1, expires: writer.time(after: rootLifetime), keys: made, thresholds: thresholds)
    let rootBytes = try RoleSigner(keys: rootKeys).sign(root)
    let targets = try writer.sign(
      TargetsRole(version: 1, expires: writer.time(after: lifetime), targets: [:]), of: [root])
    let snapshot = try writer.sign(
      SnapshotRole(
        version: 1, expires: writer.time(after: lifetime), targets: targets.promise), of: [root])
    let timestamp = try writer.sign(
      TimestampRole(
        version: 1, expires: writer.time(after: timestampLifetime), snapshot: snapshot.promise),
      of: [root])
    try writer.create(
      [targets, snapshot, timestamp],
      firstRoot: MetadataDocument(role: .root, version: 1, bytes: rootBytes))
  }

  // MARK: Publishing

  /// Publishes `files` as the store's targets, with new expiry; durable and visible when it
  /// returns.
  ///
  /// Timestamp comes last: until it is replaced, clients see the catalog as it was. Everything is
  /// signed before the first file is written, so that a missing key leaves all as it was.
  func publish(_ files: [String: TargetFile], with writer: MetadataWriter) throws {
    _ = try writer.publish(documents(of: files, signedBy: [root], with: writer), after: record)
  }

  /// Targets, snapshot and timestamp, in this order, each signed by the keys that all `roots` name.
  func documents(
    of files: [String: TargetFile], signedBy roots: [RootRole], with writer: MetadataWriter
  ) throws -> [MetadataDocument] {
    let role = TargetsRole(
      targets, version: try next(.targets), expires: writer.time(after: Self.lifetime),
      targets: files)
    let document = try writer.sign(role, of: roots)
    guard document.bytes.count <= RoleName.targets.limit else {
      throw ContentError(
        .limitExceeded,
        "The catalog would have \(document.bytes.count) bytes, more than clients read",
        remedy: "Retire old versions, or divide the products between two stores")
    }
    return try [document] + documents(of: document.promise, signedBy: roots, with: writer)
  }

  private func documents(
    of targets: MetadataFile, signedBy roots: [RootRole], with writer: MetadataWriter
  ) throws -> [MetadataDocument] {
    let role = SnapshotRole(
      version: try next(.snapshot), expires: writer.time(after: Self.lifetime), targets: targets,
      others: snapshot.files)
    let document = try writer.sign(role, of: roots)
    return try [document, timestamp(of: document.promise, signedBy: roots, with: writer)]
  }

  private func timestamp(
    of snapshot: MetadataFile, signedBy roots: [RootRole], with writer: MetadataWriter
  ) throws -> MetadataDocument {
    let role = TimestampRole(
      version: try next(.timestamp), expires: writer.time(after: Self.timestampLifetime),
      snapshot: snapshot)
    return try writer.sign(role, of: roots)
  }

  /// The number of what is signed next: above all that the store has or that was signed before.
  private func next(_ role: RoleName) throws -> Int64 {
    try Self.number(after: max(versions[role]?.version ?? 0, record.highest(role)), role)
  }

  static func number(after version: Int64, _ role: RoleName) throws -> Int64 {
    // The highest number of all is not read, since no version could follow it.
    guard version < .max - 1 else {
      throw ContentError(
        .storeDamaged, "No number can follow version \(version) of the \(role.rawValue) metadata",
        remedy: "Create a new store, and give its root to the clients", subject: role.fileName)
    }
    return version + 1
  }

  /// Renews what has less than half of its life left, or `everything`, but never the root.
  ///
  /// Returns the roles that were signed anew.
  func renew(with writer: MetadataWriter, everything: Bool) throws -> [StoreRole] {
    func isDue(_ expires: Date, _ lifetime: TimeInterval) -> Bool {
      everything || expires < writer.now.addingTimeInterval(lifetime / 2)
    }
    if needsSigning || isDue(targets.expires, Self.lifetime) {
      try publish(targets.targets, with: writer)
      return [.targets, .snapshot, .timestamp]
    }
    if isDue(snapshot.expires, Self.lifetime) {
      _ = try writer.publish(
        documents(of: snapshot.targets, signedBy: [root], with: writer), after: record)
      return [.snapshot, .timestamp]
    }
    guard isDue(timestamp.expires, Self.timestampLifetime) else { return [] }
    _ = try writer.publish(
      [timestamp(of: timestamp.snapshot, signedBy: [root], with: writer)], after: record)
    return [.timestamp]
  }
}

extension ContentError {
  /// The file of `role` is older than what `record` says, or another one of the same number.
  fileprivate static func storeRolledBack(
    _ folder: Directory, _ role: RoleName, _ found: SignedVersion?, _ record: PublicationRecord
  ) -> ContentError {
    let version = found?.version ?? 0
    let signed = record.signed[role]?.version ?? 0
    let path = folder.path(of: MetadataDocument.name(role, version))
    return ContentError(
      .storeRolledBack,
      version < signed
        ? "\(path) is the newest \(role.rawValue) metadata with version \(version), but version "
          + "\(signed) was signed already"
        : "\(path) is not the version \(signed) of the \(role.rawValue) metadata that was signed "
          + "last: another machine may have signed the same number",
      remedy: role == .root
        ? "Put version \(signed) of the root back from a mirror or a copy; clients need every root"
        : "Put the newest metadata back from a mirror or a copy, and publish again what it lacks. If "
          + "these files are here on purpose, confirm that: they are then signed again with higher "
          + "version numbers",
      subject: path)
  }

  /// A file that the rest of the metadata needs is not in the store's folder.
  fileprivate static func metadataLost(_ path: String, _ reason: ContentError) -> ContentError {
    ContentError(
      .storeDamaged, "The store's metadata file \(path) not found",
      remedy: "Put the file back from a copy, or repair the store with hostedcontent store repair",
      subject: path, cause: reason.cause)
  }
}
