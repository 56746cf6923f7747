import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials

/// Signs a store's metadata and publishes it.
struct MetadataWriter {
  let folder: Directory
  let state: StoreState
  let now: Date

  var keys: StoreKeys { state.keys }

  /// Throws `usage` for a date at which metadata cannot be signed: clients read years of four
  /// digits, and a root expires after 10 years.
  static func check(_ now: Date) throws {
    guard (-62_135_596_800..<253_000_000_000).contains(now.timeIntervalSince1970) else {
      throw ContentError(
        .usage, "Metadata cannot be signed \(now.timeIntervalSince1970) seconds after 1970",
        remedy: "Use a date from the year 1 to the year 9986")
    }
  }

  /// The time after `interval` from now, in whole seconds.
  func time(after interval: TimeInterval) -> Date {
    Date(timeIntervalSince1970: (now.timeIntervalSince1970 + interval).rounded(.down))
  }

  /// Signs `role` with the keys of each of `roots`; throws `keyUnusable` if keys are missing.
  func sign<Signed: Role>(
    _ role: Signed, as name: MetadataName = .top(Signed.type), of roots: [RootRole]
  ) throws -> MetadataDocument {
    let signer = RoleSigner(keys: try roots.flatMap { try keys.keys(of: Signed.type, in: $0) })
    return MetadataDocument(role: name, version: role.version, bytes: try signer.sign(role))
  }

  /// Writes the records files of `catalog` and then its documents, in order, and returns the new
  /// publication record.
  ///
  /// The version numbers are recorded first. If the publication is interrupted, clients may have
  /// seen them, so they are not used again. The written versions are recorded last. Until then, the
  /// record has the earlier versions, and both are accepted.
  func publish(_ catalog: SignedCatalog, after record: PublicationRecord) throws
    -> PublicationRecord
  {
    let reserving = record.reserving(catalog)
    if reserving != record { try state.save(reserving) }
    for (digest, bytes) in catalog.records where !bytes.isEmpty {
      let name = RecordsFile.name(digest)
      // Compared, so that signing everything again also repairs a damaged file.
      if try folder.status(of: name)?.size == Int64(bytes.count),
        try folder.contents(of: name, limit: Int64(bytes.count)) == bytes
      {
        continue
      }
      try write(name, bytes)
    }
    for document in catalog.documents { try write(document.name, document.bytes) }
    let next = try reserving.signing(catalog.documents.versions)
    try state.save(next)
    return next
  }

  private func write(_ name: String, _ bytes: [UInt8]) throws {
    if let rehearsal = keys.rehearsal {
      return try rehearsal.write(.metadata, name, of: folder, bytes: Int64(bytes.count))
    }
    try folder.replaceServedFile(name) { try $0.write(bytes) }
  }

  /// Writes the first metadata of a store, and then its publication record.
  func create(_ documents: [MetadataDocument], firstRoot: MetadataDocument) throws {
    let all = [firstRoot] + documents
    for document in all { try write(document.name, document.bytes) }
    try state.save(PublicationRecord(firstRoot: firstRoot.signedVersion, signed: all.versions))
  }
}

/// Signed metadata that belongs together, ready to be written.
struct SignedCatalog {
  var records: [Digest: [UInt8]] = [:]
  /// In the order in which they are written: a file comes after all files that it lists.
  var documents: [MetadataDocument]
  /// The number of bins, in bits; 0 is one list.
  var bits: Int64 = 0
}

extension [MetadataDocument] {
  var versions: [RoleName: SignedVersion] {
    get throws {
      try reduce(into: [:]) {
        if case .top(let role) = $1.role { $0[role] = try $1.signedVersion }
      }
    }
  }
}
