import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials

extension StoreMetadata {
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
}
