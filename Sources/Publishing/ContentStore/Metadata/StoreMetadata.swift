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
  private static let rootLifetime = 3650 * day
  static let lifetime = 365 * day
  private static let timestampLifetime = 90 * day
}
extension StoreMetadata {
  // MARK: Reading

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
      _ = try keys.keys(of: role, in: chain.root)
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

  // MARK: Repairing

  /// Reads the newest snapshot and targets in `folder` that belong together, ignoring the
  /// timestamp.
  ///
  /// Only the newest root counts, because the keys of an earlier root may be stolen.
  init(
    repairing store: Directory, _ folder: Directory, _ record: PublicationRecord?, keys: StoreKeys
  ) throws {
    var chain = try Self.chain(in: folder, record, keys)
    chain.earlier = []
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

  // MARK: Lists

  /// Calls `body` with each list of the catalog.
  ///
  /// Each list is read once. Throws an error that names the file if a bin is damaged or missing.
  func forEachList(in store: Directory, _ body: (ListContents) throws -> Void) throws {
    for name in try catalog.lists { try body(ListContents(list(name, in: store), of: catalog)) }
  }

  private func list(_ name: MetadataName, in store: Directory) throws -> CatalogList {
    do {
      return try catalog.list(name)
    } catch let error as ContentError where error.group == .trust {
      throw ContentError.foreignMetadata(.targets, store.path(of: path(ofList: name)), error)
    } catch let error as ContentError where error.code == .storeMissing {
      throw ContentError.metadataLost(store.path(of: path(ofList: name)), error)
    }
  }

  /// The path below the store of the list `name`, which is one of `catalog.lists`.
  func path(ofList name: MetadataName) -> String {
    name.path(
      version: name == .targets ? targets.version : snapshot.files[name.fileName]?.version)
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

  // MARK: Publishing

  var everything: Set<MetadataName> { get throws { Set(try catalog.lists).union([.targets]) } }

  /// Publishes `changes`, by target, and the lists `due`, with new expiry.
  ///
  /// Durable and visible on return. The timestamp is written last: clients see the earlier catalog
  /// until then. Everything is signed before the first file is written, so that a missing key
  /// changes nothing. Returns the new publication record.
  @discardableResult
  func publish(
    _ changes: [String: ChangedEntry], due: Set<MetadataName> = [], with writer: MetadataWriter
  ) throws -> PublicationRecord {
    let due = try needsSigning ? everything : due
    return try writer.publish(
      catalog(changes, due: due, signedBy: [root], with: writer), after: record)
  }

  /// Returns this metadata, to be signed with numbers above `seen`.
  ///
  /// The next snapshot also lists the files `listed`. Those that the store does not have get the
  /// snapshot's number, which is higher than any number that clients have seen.
  func above(_ seen: [RoleName: Int64], listing listed: Set<String>) throws -> StoreMetadata {
    var metadata = self
    metadata.record = record.raising(to: seen)
    metadata.needsSigning = true
    let lost = MetadataFile(version: try metadata.next(.snapshot))
    let files = snapshot.files.merging(listed.map { ($0, lost) }) { known, _ in known }
    metadata.snapshot = SnapshotRole(
      version: snapshot.version, expires: snapshot.expires, targets: snapshot.targets,
      others: files)
    return metadata
  }

  /// Returns bins, targets, snapshot and timestamp with `changes`.
  ///
  /// Each is signed by the keys of all `roots`, and bins by those of the last one. Lists that do
  /// not change are only signed again if they are in `due`.
  func catalog(
    _ changes: [String: ChangedEntry], due: Set<MetadataName>, signedBy roots: [RootRole],
    with writer: MetadataWriter
  ) throws -> SignedCatalog {
    let newest = roots[roots.count - 1]
    let (lists, newBits) = try distributedLists(for: changes, due: due, newest)
    var signed = SignedCatalog(documents: [], bits: newBits)
    var files = snapshot.files
    if bits < record.bits {
      // After a restored backup: clients have seen these names.
      for name in try Self.binNames(upTo: newBits, newest)
      where files[name.fileName] == nil {
        files[name.fileName] = MetadataFile(version: try next(.snapshot))
      }
    }
    var targets = snapshot.targets
    for list in lists.values.sorted(by: { $0.name.text < $1.name.text }) {
      let document = try sign(list, &signed, roots, writer)
      if list.name == .targets {
        targets = try document.entry
      } else {
        files[list.name.fileName] = MetadataFile(version: document.version)
      }
    }
    if newBits > 0, newBits != bits || due.contains(.targets) {
      let role = TargetsRole(
        replacing: self.targets, version: try next(.targets),
        expires: writer.time(after: Self.lifetime), targets: [:],
        delegations: try newest.targetBins(bits: newBits))
      let document = try writer.sign(role, of: roots)
      signed.documents.append(document)
      targets = try document.entry
    }
    let digest = try Digest(of: signed.documents.flatMap(\.bytes))
    let role = SnapshotRole(
      version: try next(.snapshot), expires: writer.time(after: Self.lifetime), targets: targets,
      others: files, lists: digest)
    let document = try writer.sign(role, of: roots)
    signed.documents += [
      document, try timestamp(of: document.entry, signedBy: roots, with: writer),
    ]
    return signed
  }

  /// The number of bins, in bits; 0 is one list.
  private var bits: Int64 { targets.delegations?.bins?.bits ?? 0 }

  /// Returns the lists to sign, with `changes` and in enough bins, and the number of bits.
  private func distributedLists(
    for changes: [String: ChangedEntry], due: Set<MetadataName>, _ root: RootRole
  ) throws -> ([MetadataName: PublishedList], Int64) {
    var lists = try self.lists(for: changes, due: due)
    let isFull = lists.values.contains { CatalogSize.isFull($0.files.count, bits: bits) }
    guard isFull || bits < record.bits else { return (lists, bits) }
    for name in try catalog.lists where lists[name] == nil {
      lists[name] = try catalog.publishedList(name)
    }
    func bins(_ bits: Int64) throws -> HashBins? { try root.targetBins(bits: bits).bins }
    let names = lists.values.flatMap(\.files.keys)
    let next = try CatalogSize.bits(after: max(isFull ? bits : bits - 1, record.bits - 1)) { bits in
      let bins = try bins(bits)
      return Array(
        try names.reduce(into: [:]) { $0[try bins?.name(for: $1), default: 0] += 1 }.values)
    }
    let new = try bins(next).map { try PublishedList.distributed(lists.values, in: $0) }
    return (new ?? [:], next)
  }

  private func lists(for changes: [String: ChangedEntry], due: Set<MetadataName>) throws
    -> [MetadataName: PublishedList]
  {
    var lists: [MetadataName: PublishedList] = [:]
    for name in try catalog.lists where due.contains(name) {
      lists[name] = try catalog.publishedList(name)
    }
    for (target, entry) in changes {
      let name = try catalog.listName(ofTarget: target)
      if lists[name] == nil { lists[name] = try catalog.publishedList(name) }
      try lists[name]?.set(target, to: entry)
    }
    return lists
  }

  /// The names of all bins of catalogs with at most `bits`.
  private static func binNames(upTo bits: Int64, _ root: RootRole) throws -> [MetadataName] {
    try CatalogSize.steps.filter { $0 <= bits }.flatMap {
      try root.targetBins(bits: $0).bins?.names ?? []
    }.map(MetadataName.delegated)
  }

  /// Signs `list`, and adds its document and its records file to `signed`.
  private func sign(
    _ list: PublishedList, _ signed: inout SignedCatalog, _ roots: [RootRole],
    _ writer: MetadataWriter
  ) throws -> MetadataDocument {
    let isTop = list.name == .targets
    let records = list.recordsFile
    let digest = try Digest(of: records)
    signed.records[digest] = records
    let role = TargetsRole(
      replacing: list.role, version: try next(isTop ? .targets : .snapshot),
      expires: writer.time(after: Self.lifetime), targets: list.files,
      details: ListDetails(role: list.name, length: Int64(records.count), digest: digest))
    let signers = isTop ? roots : Array(roots.suffix(1))
    let document = try writer.sign(role, as: list.name, of: signers)
    guard document.bytes.count <= RoleName.targets.limit,
      records.count <= RecordsFile.maximumLength
    else {
      throw ContentError(
        .limitExceeded,
        "A list of the catalog would have \(max(document.bytes.count, records.count)) bytes, more "
          + "than clients accept",
        remedy: "Retire old versions, or split the products into two stores")
    }
    signed.documents.append(document)
    return document
  }

  private func timestamp(
    of snapshot: MetadataFile, signedBy roots: [RootRole], with writer: MetadataWriter
  ) throws -> MetadataDocument {
    let role = TimestampRole(
      version: try next(.timestamp), expires: writer.time(after: Self.timestampLifetime),
      snapshot: snapshot)
    return try writer.sign(role, of: roots)
  }

  /// The next version number: higher than the store's versions and all signed versions.
  private func next(_ role: RoleName) throws -> Int64 {
    try Self.number(after: max(versions[role]?.version ?? 0, record.highest(role)), role)
  }

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

  // MARK: Renewing

  /// The roles and lists with less than half of their lifetime left, or `everything`, but never the
  /// root; a role is due with each one that it lists.
  ///
  /// `expires` has the expiry of lists that were already read; the other lists are read.
  func due(
    now: Date, everything: Bool = false, expires known: [MetadataName: Date] = [:]
  ) throws -> (roles: [StoreRole], lists: Set<MetadataName>) {
    let roles: [StoreRole] = [.targets, .snapshot, .timestamp]
    func isDue(_ expires: Date, _ lifetime: TimeInterval) -> Bool {
      expires < now.addingTimeInterval(lifetime / 2)
    }
    if needsSigning || everything { return (roles, try self.everything) }
    var due = Set(
      try catalog.lists.filter {
        isDue(try known[$0] ?? catalog.list($0).role.expires, Self.lifetime)
      })
    if isDue(targets.expires, Self.lifetime) { due.insert(.targets) }
    if !due.isEmpty { return (roles, due) }
    if isDue(snapshot.expires, Self.lifetime) { return ([.snapshot, .timestamp], []) }
    return (isDue(timestamp.expires, Self.timestampLifetime) ? [.timestamp] : [], [])
  }

  /// Renews the roles and lists that are `due`; returns the roles that were signed again.
  func renew(with writer: MetadataWriter, everything: Bool) throws -> [StoreRole] {
    let due = try due(now: writer.now, everything: everything)
    if due.roles == [.timestamp] {
      let document = try timestamp(of: timestamp.snapshot, signedBy: [root], with: writer)
      _ = try writer.publish(SignedCatalog(documents: [document]), after: record)
    } else if !due.roles.isEmpty {
      try publish([:], due: due.lists, with: writer)
    }
    return due.roles
  }

  // MARK: The root

  /// Whether the root expires in less than a year.
  func isRootDue(now: Date) -> Bool { root.expires < now.addingTimeInterval(Self.lifetime) }

  /// Writes the next root, with the same keys and a new expiry.
  func renewRoot(with writer: MetadataWriter) throws -> StoreMetadata {
    let (next, document) = try nextRoot(NewKeys(), with: writer)
    return try stepping(to: next, in: SignedCatalog(documents: [document]), with: writer)
  }

  /// Writes the next root with new keys for `roles`, and the metadata that they sign.
  ///
  /// The files of the old keys still exist. A client reads the root first, and then the metadata,
  /// which the keys of this root must have signed. So the metadata is signed by the keys of both
  /// roots and written before the root: it is valid for clients with either root. If old keys were
  /// lost, a client can find the new root with the old timestamp. It then cannot refresh until the
  /// timestamp is written.
  func rotate(_ roles: [StoreRole], _ plan: StoreKeyPlan, with writer: MetadataWriter) throws
    -> StoreMetadata
  {
    // Check first, so that no key is created without need.
    _ = try writer.keys.keys(of: .root, in: root)
    let version = try nextRootVersion(in: writer.folder)
    let keys = try NewKeys(roles, plan, known: root.roles, forRoot: version, in: writer.keys)
    let (next, document) = try nextRoot(keys, with: writer)
    guard needsSigning || roles.contains(where: { $0 != .root }) else {
      return try stepping(to: next, in: SignedCatalog(documents: [document]), with: writer)
    }
    let due = try needsSigning || roles.contains(.targets) ? everything : []
    if var catalog = try catalogSignedByBoth(next, due: due, with: writer) {
      catalog.documents.append(document)
      return try stepping(to: next, in: catalog, with: writer)
    }
    var catalog = try catalog([:], due: due, signedBy: [next], with: writer)
    catalog.documents.insert(document, at: catalog.documents.count - 1)
    return try stepping(to: next, in: catalog, with: writer)
  }

  /// Returns the catalog signed by the keys of this root and of `next`.
  ///
  /// Returns nil if keys of this root are not available, or if a file would exceed the clients'
  /// limit.
  private func catalogSignedByBoth(
    _ next: RootRole, due: Set<MetadataName>, with writer: MetadataWriter
  ) throws -> SignedCatalog? {
    for role in [RoleName.targets, .snapshot, .timestamp] {
      do {
        _ = try writer.keys.keys(of: role, in: root)
      } catch let error as ContentError where error.code == .keyUnusable {
        return nil
      }
    }
    let catalog = try catalog([:], due: due, signedBy: [root, next], with: writer)
    return catalog.documents.allSatisfy { $0.bytes.count <= $0.role.limit } ? catalog : nil
  }

  /// The version of the next root; throws `storeDamaged` if a later, foreign root exists.
  private func nextRootVersion(in folder: Directory) throws -> Int64 {
    let version = try Self.number(after: root.version, .root)
    let later = MetadataDocument.name(.root, version + 1)
    guard try folder.status(of: later) == nil else {
      throw ContentError(
        .storeDamaged,
        "\(folder.path(of: later)) exists, but the newest root has version \(root.version)",
        remedy: "Find out who wrote this file, and remove it: clients would reject the store",
        subject: folder.path(of: later))
    }
    return version
  }

  /// Returns the next root, signed by the old and the new keys, so that all clients can follow.
  private func nextRoot(_ keys: NewKeys, with writer: MetadataWriter) throws
    -> (RootRole, MetadataDocument)
  {
    let next = try RootRole(
      root, version: nextRootVersion(in: writer.folder),
      expires: writer.time(after: Self.rootLifetime), keys: keys.publicKeys,
      thresholds: keys.thresholds)
    let signer = try RoleSigner(keys: writer.keys.keys(of: .root, in: root) + keys.root)
    let document = MetadataDocument(
      role: .root, version: next.version, bytes: try signer.sign(next))
    return (next, document)
  }

  /// Writes the files of `catalog` in order; one of them is the root `next`.
  private func stepping(
    to next: RootRole, in catalog: SignedCatalog, with writer: MetadataWriter
  ) throws -> StoreMetadata {
    var metadata = self
    metadata.root = next
    metadata.record = try writer.publish(catalog, after: record)
    metadata.versions.merge(try catalog.documents.versions) { $1 }
    metadata.needsSigning = needsSigning && catalog.documents.count == 1
    return metadata
  }
}

/// The keys that a new root gives to roles; empty for a root that keeps the keys.
private struct NewKeys {
  private(set) var publicKeys: [RoleName: [PublicKey]] = [:]
  private(set) var thresholds: [RoleName: Int64] = [:]
  /// The new keys of the root role, which sign the root too.
  private(set) var root: [SigningKey] = []

  init() {}

  /// Creates the keys of `roles` in `keys`, in the numbers that `plan` or the earlier root has.
  init(
    _ roles: [StoreRole], _ plan: StoreKeyPlan, known: [RoleName: RoleKeys] = [:],
    forRoot version: Int64, in keys: StoreKeys
  ) throws {
    for role in roles {
      let (count, threshold) = try plan.numbers(of: role, known: known[role.name])
      let made = try keys.make(role.name, count, plan.type.kind, forRoot: version)
      publicKeys[role.name] = made.map(\.publicKey)
      thresholds[role.name] = Int64(threshold)
      if role == .root { root = made }
    }
  }
}
/// How many hash bins a catalog has.
///
/// The limits keep what a change costs a client near its minimum: the snapshot grows with the
/// number of bins, and each bin with its entries. A publication decides by the lists that it
/// writes, without counting all products. See decision 28.
enum CatalogSize {
  /// The maximum number of entries of a store with one list.
  private static let oneList = 128
  /// The maximum number of entries of a bin, until the number of bins is the highest possible.
  private static let bin = 384
  /// The possible numbers of bins, in bits.
  ///
  /// The names of bins with the same number of hexadecimal digits are used again when the number
  /// grows.
  static let steps: [Int64] = [2, 4, 8, 10, 12]

  /// Whether a list with `count` entries is too long for a catalog with `bits`; 0 is one list.
  static func isFull(_ count: Int, bits: Int64) -> Bool {
    guard bits != steps.last else { return false }
    return count > (bits == 0 ? oneList : bin)
  }

  /// The next number of bits at which no list is full; `counts` returns the entries of each list.
  static func bits(after bits: Int64, counts: (Int64) throws -> [Int]) rethrows -> Int64 {
    for next in steps where next > bits {
      if try !counts(next).contains(where: { isFull($0, bits: next) }) { return next }
    }
    return bits
  }
}
extension TrustedTargets {
  /// Reads all bins; throws an error of the group `trust`, or `storeMissing`.
  func checkLists() throws {
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
