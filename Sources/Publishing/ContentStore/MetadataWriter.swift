import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// Signs a store's metadata and publishes it.
struct MetadataWriter {
  let folder: Directory
  let keys: StoreKeys
  let state: StoreState
  let now: Date

  /// The time after `interval` from now, in whole seconds.
  func time(after interval: TimeInterval) -> Date {
    Date(timeIntervalSince1970: (now.timeIntervalSince1970 + interval).rounded(.down))
  }

  /// Signs `role` with the keys of each of `roots`.
  ///
  /// Throws `keyUnusable` if keys are missing.
  func sign<Signed: Role>(_ role: Signed, of roots: [RootRole]) throws -> MetadataDocument {
    let signers = try roots.map { try keys.signer(Signed.type, of: $0) }
    let signer = signers.dropFirst().reduce(signers[0]) { $0.adding($1) }
    return MetadataDocument(
      role: Signed.type, version: role.version, bytes: try signer.sign(role))
  }

  /// Writes `documents` in order and returns the new publication record.
  ///
  /// The version numbers are recorded first. If the publication is interrupted, clients may have
  /// seen them, so they are not used again. The written versions are recorded last. Until then, the
  /// record has the earlier versions, and both are accepted.
  func publish(_ documents: [MetadataDocument], after record: PublicationRecord) throws
    -> PublicationRecord
  {
    let reserving = record.reserving(documents)
    if reserving != record { try state.save(reserving) }
    for document in documents { try document.write(to: folder) }
    let next = try reserving.signing(documents.versions)
    try state.save(next)
    return next
  }

  /// Writes the first metadata of a store, and then its record.
  func create(_ documents: [MetadataDocument], firstRoot: MetadataDocument) throws {
    for document in [firstRoot] + documents { try document.write(to: folder) }
    let signed = try ([firstRoot] + documents).versions
    try state.save(PublicationRecord(firstRoot: firstRoot.signedVersion, signed: signed))
  }
}

extension [MetadataDocument] {
  var versions: [RoleName: SignedVersion] {
    get throws { try reduce(into: [:]) { $0[$1.role] = try $1.signedVersion } }
  }
}
