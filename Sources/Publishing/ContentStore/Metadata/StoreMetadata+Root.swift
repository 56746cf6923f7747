import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials

/// The steps from one root to the next.
extension StoreMetadata {
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
    _ = try writer.keys.signer(.root, of: root)
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
        _ = try writer.keys.signer(role, of: root)
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
    let signer = try writer.keys.signer(.root, of: root).adding(keys.root)
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
struct NewKeys {
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
