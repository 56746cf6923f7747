import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// The steps from one root to the next.
extension StoreMetadata {
  /// Whether less than a year of the root is left.
  func isRootDue(now: Date) -> Bool { root.expires < now.addingTimeInterval(Self.lifetime) }

  /// Writes the next root, with the same keys and a new life.
  func renewRoot(with writer: MetadataWriter) throws -> StoreMetadata {
    let (next, document) = try nextRoot(writer, keys: [:], thresholds: [:], newRootKeys: [])
    return try stepping(to: next, in: [document], with: writer)
  }

  /// Writes the next root, in which `roles` have new keys, and what they sign; the old ones' files
  /// are still there.
  ///
  /// A client reads the root first, and then what the keys of this root must have signed. So the
  /// rest is signed by the keys of both roots and written before the root: it is valid whichever of
  /// the two a client has. If old keys were lost, a client can find the new root and the old
  /// timestamp, and cannot refresh until the timestamp follows.
  func rotate(_ roles: [StoreRole], _ plan: StoreKeyPlan, with writer: MetadataWriter) throws
    -> StoreMetadata
  {
    // Asked first, so that no key is made in vain.
    _ = try writer.keys.signer(.root, of: root)
    var new: [RoleName: [PublicKey]] = [:]
    var thresholds: [RoleName: Int64] = [:]
    var newRootKeys: [SigningKey] = []
    let version = try nextRootVersion(in: writer.folder)
    for role in roles {
      let (count, threshold) = try plan.numbers(of: role, known: root.roles[role.name])
      let made = try writer.keys.make(role.name, count, plan.type.kind, forRoot: version)
      new[role.name] = made.map(\.publicKey)
      thresholds[role.name] = Int64(threshold)
      if role == .root { newRootKeys = made }
    }
    let (next, document) = try nextRoot(
      writer, keys: new, thresholds: thresholds, newRootKeys: newRootKeys)
    guard needsSigning || new.keys.contains(where: { $0 != .root }) else {
      return try stepping(to: next, in: [document], with: writer)
    }
    if let documents = try documentsOfBoth(next, with: writer) {
      return try stepping(to: next, in: documents + [document], with: writer)
    }
    var documents = try documents(of: targets.targets, signedBy: [next], with: writer)
    documents.insert(document, at: documents.count - 1)
    return try stepping(to: next, in: documents, with: writer)
  }

  /// Targets, snapshot and timestamp signed by the keys of this root and of `next`; nil if the keys
  /// of this root are not here, or if a file would be longer than clients read.
  private func documentsOfBoth(_ next: RootRole, with writer: MetadataWriter) throws
    -> [MetadataDocument]?
  {
    for role in [RoleName.targets, .snapshot, .timestamp] {
      do {
        _ = try writer.keys.signer(role, of: root)
      } catch let error as ContentError where error.code == .keyUnusable {
        return nil
      }
    }
    let documents = try documents(of: targets.targets, signedBy: [root, next], with: writer)
    return documents.allSatisfy { $0.bytes.count <= $0.role.limit } ? documents : nil
  }

  /// The number of the next root; `storeDamaged` if clients would find a later one that is not
  /// ours.
  private func nextRootVersion(in folder: Directory) throws -> Int64 {
    let version = try Self.number(after: root.version, .root)
    let later = MetadataDocument.name(.root, version + 1)
    guard try folder.status(of: later) == nil else {
      throw ContentError(
        .storeDamaged,
        "\(folder.path(of: later)) exists, but the newest root has version \(root.version)",
        remedy: "Find out who wrote this file, and remove it: clients would refuse the store",
        subject: folder.path(of: later))
    }
    return version
  }

  /// The next root, signed by the old and the new keys: clients that trust either follow.
  private func nextRoot(
    _ writer: MetadataWriter, keys: [RoleName: [PublicKey]], thresholds: [RoleName: Int64],
    newRootKeys: [SigningKey]
  ) throws -> (RootRole, MetadataDocument) {
    let next = try RootRole(
      root, version: nextRootVersion(in: writer.folder),
      expires: writer.time(after: Self.rootLifetime), keys: keys, thresholds: thresholds)
    let signer = try writer.keys.signer(.root, of: root).adding(newRootKeys)
    let document = MetadataDocument(
      role: .root, version: next.version, bytes: try signer.sign(next))
    return (next, document)
  }

  /// Writes `documents`, one of which is the root `next`, in their order.
  private func stepping(
    to next: RootRole, in documents: [MetadataDocument], with writer: MetadataWriter
  ) throws -> StoreMetadata {
    var metadata = self
    metadata.root = next
    metadata.record = try writer.publish(documents, after: record)
    metadata.versions.merge(try documents.versions) { $1 }
    metadata.needsSigning = needsSigning && documents.count == 1
    return metadata
  }
}
