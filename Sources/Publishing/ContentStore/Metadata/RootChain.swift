import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials

/// A metadata file whose signatures are verified, and its role.
struct VerifiedFile<Signed: Role> {
  let role: Signed
  let document: MetadataDocument
}

/// The chain of a store's roots, from the pinned first root to the newest.
///
/// Each root is signed by the keys of the previous root and by its own keys. As in a client, roots
/// are read until the next version does not exist. A file with a later version has no effect.
struct RootChain {
  let first: SignedVersion
  /// The file of the newest root.
  let document: MetadataDocument
  let root: RootRole
  /// The metadata state that trusts the newest root, and those of earlier roots, newest first.
  private(set) var newest: TrustedMetadata
  var earlier: [TrustedMetadata] = []

  /// Reads and verifies the roots in `folder`; without `pin`, 1.root.json is trusted.
  init(in folder: Directory, from pin: SignedVersion?) throws {
    var (document, trusted) = try Self.first(in: folder, pin)
    first = try document.signedVersion
    // Metadata with the maximum version is refused, so the next number does not overflow.
    while case let next = trusted.root.version + 1,
      try folder.status(of: MetadataDocument.name(.root, next)) != nil
    {
      earlier.insert(trusted, at: 0)
      let (bytes, _) = try folder.metadata(.root, next) { try trusted.update(root: $0) }
      document = MetadataDocument(role: .root, version: next, bytes: bytes)
    }
    (self.document, root, newest) = (document, trusted.root, trusted)
  }

  /// Returns the role in the file `version` of `name` in `folder`, and the file.
  ///
  /// Returns nil if the file does not exist, or is not this version signed under one of the roots.
  func signed<Signed: Role>(
    _ version: Int64, of name: MetadataName = .top(Signed.type), in folder: Directory
  ) throws -> VerifiedFile<Signed>? {
    let contents = try nilIf(.fileMissing, .limitExceeded) {
      try folder.contents(of: MetadataDocument.name(name, version), limit: name.limit)
    }
    guard let bytes = contents else { return nil }
    for trusted in [newest] + earlier {
      do {
        let role: Signed = try trusted.verified(bytes)
        guard name == .timestamp || role.version == version else { return nil }
        return VerifiedFile(
          role: role, document: MetadataDocument(role: name, version: role.version, bytes: bytes))
      } catch let error as ContentError where error.group == .trust {}
    }
    return nil
  }

  /// The same roots, with only the keys in `keys` accepted for `roles`.
  func limited(to keys: Set<PublicKey>, for roles: [RoleName]) throws -> RootChain {
    func limited(_ trusted: TrustedMetadata) throws -> TrustedMetadata {
      try TrustedMetadata(verified: trusted.root.limited(to: keys, for: roles))
    }
    var chain = self
    (chain.newest, chain.earlier) = (try limited(newest), try earlier.map(limited))
    return chain
  }

  /// The first root in `folder`; throws unless it is the root that `pin` names.
  static func first(in folder: Directory, _ pin: SignedVersion?) throws -> (
    MetadataDocument, TrustedMetadata
  ) {
    let version = pin?.version ?? 1
    let path = folder.path(of: MetadataDocument.name(.root, version))
    let bytes: [UInt8]
    let trusted: TrustedMetadata
    do {
      (bytes, trusted) = try folder.metadata(.root, version) { try TrustedMetadata(root: $0) }
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError(
        .storeDamaged, "The store's first root \(path) not found",
        remedy: "Restore the file from a copy of the store", subject: path, cause: error.cause)
    }
    let document = MetadataDocument(role: .root, version: version, bytes: bytes)
    guard trusted.root.version == version,
      try pin.map({ try $0 == document.signedVersion }) ?? true
    else {
      throw ContentError(
        .rootMismatch, "\(path) is not the store's first root",
        remedy: "Find out who replaced it, and restore the file from a copy of the store",
        subject: path)
    }
    return (document, trusted)
  }

  // MARK: Catalogs

  /// Whether the store's keys have signed this version of targets metadata or of a bin.
  func hasSigned(_ name: MetadataName, _ version: Int64, in folder: Directory) throws -> Bool {
    // The targets keys sign bins too. A bin names itself, so it is not another file.
    guard let role: TargetsRole = try signed(version, of: name, in: folder)?.role else {
      return false
    }
    return name == .targets || role.details?.role == name.text
  }

  /// The catalogs among `files`, and the paths of snapshots that the store's keys have not signed.
  func catalogs(among files: [StoreFile], in folder: Directory) throws -> (
    [CatalogVersion], foreign: Set<String>
  ) {
    var catalogs: [CatalogVersion] = []
    var foreign: Set<String> = []
    for file in files {
      guard let version = MetadataDocument.version(.snapshot, in: file.name) else { continue }
      guard let role: SnapshotRole = try signed(version, in: folder)?.role else {
        foreign.insert(file.path)
        continue
      }
      catalogs.append(
        CatalogVersion(
          snapshot: version, targets: role.targets,
          written: max(role.expires.addingTimeInterval(-StoreMetadata.lifetime), file.modified)))
    }
    return (catalogs, foreign)
  }
}
