import ContentModel
import ContentTrust
import FileIO

/// A store's roots from the first one, which is pinned, to the newest.
///
/// Each is signed by the keys of the one before and by its own. As in a client, the next number is
/// read until there is none: a file whose number does not follow has no effect.
struct RootChain {
  let first: SignedVersion
  /// The newest root as it is in the store.
  let document: MetadataDocument
  /// The newest root's role.
  let root: RootRole
  /// What trusts the newest root, and what trusts each earlier one, newest first.
  let newest: TrustedMetadata
  let earlier: [TrustedMetadata]

  /// Reads and verifies the roots in `folder`; without `pin` its 1.root.json is taken as it is.
  init(in folder: Directory, from pin: SignedVersion?) throws {
    var (document, trusted) = try Self.first(in: folder, pin)
    var earlier: [TrustedMetadata] = []
    first = try document.signedVersion
    while let next = try Self.number(after: trusted.root.version, in: folder) {
      earlier.insert(trusted, at: 0)
      let bytes = try folder.metadata(.root, next) { try trusted.update(root: $0) }
      document = MetadataDocument(role: .root, version: next, bytes: bytes)
    }
    self.document = document
    root = trusted.root
    newest = trusted
    self.earlier = earlier
  }

  private init(_ chain: RootChain, newest: TrustedMetadata, earlier: [TrustedMetadata]) {
    first = chain.first
    document = chain.document
    root = chain.root
    self.newest = newest
    self.earlier = earlier
  }

  /// The same roots, under which only signatures by the keys in `keys` count for `roles`.
  func limited(to keys: Set<PublicKey>, for roles: [RoleName]) throws -> RootChain {
    func limited(_ trusted: TrustedMetadata) throws -> TrustedMetadata {
      try TrustedMetadata(verified: trusted.root.limited(to: keys, for: roles))
    }
    return try RootChain(self, newest: limited(newest), earlier: earlier.map(limited))
  }

  /// The first root in `folder`, which must be the one that `pin` names.
  static func first(in folder: Directory, _ pin: SignedVersion?) throws -> (
    MetadataDocument, TrustedMetadata
  ) {
    let version = pin?.version ?? 1
    let path = folder.path(of: MetadataDocument.name(.root, version))
    var trusted: TrustedMetadata?
    let bytes: [UInt8]
    do {
      bytes = try folder.metadata(.root, version) { trusted = try TrustedMetadata(root: $0) }
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError(
        .storeDamaged, "The store's first root \(path) not found",
        remedy: "Put the file back from a copy of the store", subject: path, cause: error.cause)
    }
    let document = MetadataDocument(role: .root, version: version, bytes: bytes)
    guard let trusted, trusted.root.version == version,
      try pin.map({ try $0 == document.signedVersion }) ?? true
    else {
      throw ContentError(
        .rootMismatch, "\(path) is not the store's first root",
        remedy: "Find out who replaced it, and put the file back from a copy of the store",
        subject: path)
    }
    return (document, trusted)
  }

  private static func number(after version: Int64, in folder: Directory) throws -> Int64? {
    // Metadata of the highest number there is cannot be read, so this does not overflow.
    let next = version + 1
    return try folder.status(of: MetadataDocument.name(.root, next)) == nil ? nil : next
  }
}
