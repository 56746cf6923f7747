import HostedModel
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import Testing

/// The entries and records of a catalog, for a test that changes them.
struct HandmadeCatalog {
  /// The entries, by target name.
  var entries: [String: TargetFile] = [:]
  /// The lines of records files.
  var records: [Digest: [UInt8]] = [:]

  /// Sets the record of a product to `bytes`, which may be wrong.
  mutating func setRecord(of product: ProductIdentifier, to bytes: [UInt8]) throws {
    let digest = try Digest(of: bytes)
    entries["\(product)/product.json"] = TargetFile(length: Int64(bytes.count), digest: digest)
    records[digest] = bytes
  }
}

extension MaintainedStore {
  /// Signs the next catalog with the store's keys, as a publisher with an error or of another
  /// version could.
  ///
  /// It has `bits` of hash bins, or one list for nil. `change` can make it wrong.
  func sign(
    bits: Int64? = nil, day: Double, _ change: (inout HandmadeCatalog) throws -> Void = { _ in }
  ) throws {
    let client = try client(day: day)
    let (snapshot, targets) = (try #require(client.snapshot), try #require(client.targets))
    var catalog = try handmadeCatalog(client)
    try change(&catalog)
    try writeRecords(of: catalog)
    let (version, expires) = (snapshot.version + 1, at(day + 365))
    let delegations = try bits.map { try client.root.targetBins(bits: $0) }
    var files = snapshot.files
    var top = TargetsRole(
      version: targets.version + 1, expires: expires, targets: [:], delegations: delegations)
    for (name, entries) in try lists(of: catalog, delegations?.bins) {
      let digests = entries.sorted { $0.key < $1.key }.compactMap(\.value.digest)
      let records = RecordsFile.bytes(digests.compactMap { catalog.records[$0] })
      let digest = try Digest(of: records)
      if !records.isEmpty { try fixture.put([RecordsFile.name(digest): records]) }
      let role = TargetsRole(
        version: name == .targets ? top.version : version, expires: expires, targets: entries,
        details: ListDetails(role: name, length: Int64(records.count), digest: digest))
      guard name != .targets else {
        top = role
        continue
      }
      try fixture.put(["\(version).\(name.encodedFileName)": signer(.targets).sign(role)])
      files[name.fileName] = MetadataFile(version: version)
    }
    try writeTop(top, files, version: version, day: day)
  }

  private func handmadeCatalog(_ client: TrustedMetadata) throws -> HandmadeCatalog {
    let published = try catalog(client)
    return try published.lists.reduce(into: HandmadeCatalog()) { catalog, name in
      let list = try published.list(name)
      catalog.entries.merge(list.role.targets) { $1 }
      catalog.records.merge(try published.records(of: list) ?? [:]) { $1 }
    }
  }

  private func lists(of catalog: HandmadeCatalog, _ bins: HashBins?) throws
    -> [MetadataName: [String: TargetFile]]
  {
    var lists: [MetadataName: [String: TargetFile]] = [:]
    for name in bins?.names.map(MetadataName.delegated) ?? [.targets] { lists[name] = [:] }
    for (target, file) in catalog.entries {
      let name = try bins.map { MetadataName.delegated(try $0.name(for: target)) } ?? .targets
      lists[name]?[target] = file
    }
    return lists
  }

  private func writeRecords(of catalog: HandmadeCatalog) throws {
    for (target, file) in catalog.entries {
      guard let digest = file.digest, let bytes = catalog.records[digest] else { continue }
      try parent(of: "targets/\(target)").replaceFile("\(digest.hex).product.json", with: bytes)
    }
  }

  /// Writes targets, snapshot and timestamp.
  private func writeTop(
    _ targets: TargetsRole, _ files: [String: MetadataFile], version: Int64, day: Double
  ) throws {
    let last = try #require(client(day: day).timestamp).version
    let expires = at(day + 365)
    let targetsBytes = try signer(.targets).sign(targets)
    let snapshot = try signer(.snapshot).sign(
      SnapshotRole(
        version: version, expires: expires,
        targets: MetadataFile(version: targets.version, bytes: targetsBytes), others: files))
    let timestamp = try signer(.timestamp).sign(
      TimestampRole(
        version: last + 1, expires: at(day + 90),
        snapshot: MetadataFile(version: version, bytes: snapshot)))
    try fixture.put([
      "\(targets.version).targets.json": targetsBytes, "\(version).snapshot.json": snapshot,
    ])
    try fixture.put(["timestamp.json": timestamp])
  }

  private func signer(_ role: RoleName) throws -> RoleSigner {
    let keys = try FileSystem.real.directory(at: fixture.folder.path("store.keys"))
    let pem = try keys.contents(of: "\(role.rawValue).pem", limit: 4096)
    return RoleSigner(keys: [try SigningKey(pem: pem)])
  }
}
