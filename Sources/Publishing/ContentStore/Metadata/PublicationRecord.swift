import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO

/// The last signed versions of a store, in a file that only the publisher can write.
///
/// Other programs write the store's folder too: an upload, a restored backup, or an attacker
/// without a key. With the record, a publication only continues from metadata that the same keys
/// have signed, and never signs a version number twice.
struct PublicationRecord: Hashable {
  /// The start of the chain of roots.
  ///
  /// The digest is enough, because the store must have the file for its clients.
  let firstRoot: SignedVersion
  /// The last known version of each role.
  private(set) var signed: [RoleName: SignedVersion]
  /// The version numbers of a publication in progress or interrupted; clients may have seen them.
  private(set) var reserved: [RoleName: Int64] = [:]
  /// The highest number of bins of a publication, in bits; 0 is one list.
  ///
  /// Clients that have seen the names of these bins in a snapshot demand them in each later one.
  private(set) var bits: Int64 = 0

  /// The highest version number of `role` that may have been signed.
  func highest(_ role: RoleName) -> Int64 { max(signed[role]?.version ?? 0, reserved[role] ?? 0) }

  /// The first role with an older version in `found`, or with other bytes for the same version.
  func conflict(with found: [RoleName: SignedVersion]) -> RoleName? {
    RoleName.allCases.first { role in
      guard let signed = signed[role], let found = found[role] else { return false }
      return found != signed && found.version <= signed.version
    }
  }

  /// The first role that conflicts with this record, and its version in `folder`.
  ///
  /// `found` is the store's current metadata. The files of the recorded versions are checked too:
  /// two machines that publish to copies can sign the same version, and then one copy replaces the
  /// other.
  func conflict(with found: [RoleName: SignedVersion], in folder: Directory) throws -> (
    RoleName, SignedVersion?
  )? {
    if let role = conflict(with: found) { return (role, found[role]) }
    for role in [RoleName.targets, .snapshot] {
      guard let signed = signed[role], signed != found[role] else { continue }
      let name = MetadataDocument.name(.top(role), signed.version)
      // A file that was removed since then is not a conflict.
      guard try folder.status(of: name) != nil else { continue }
      let digest = try Digest(of: folder.contents(of: name, limit: role.limit))
      if digest != signed.digest {
        return (role, SignedVersion(version: signed.version, digest: digest))
      }
    }
    return nil
  }

  /// Whether `found` equals the last signed versions, ignoring the root.
  func isCurrent(_ found: [RoleName: SignedVersion]) -> Bool {
    RoleName.allCases.allSatisfy { $0 == .root || signed[$0] == found[$0] }
  }

  /// Returns the record for after `versions` became visible.
  func signing(_ versions: [RoleName: SignedVersion]) -> PublicationRecord {
    var next = self
    next.signed.merge(versions) { $1 }
    next.reserved = reserved.filter { $1 > next.signed[$0]?.version ?? 0 }
    return next
  }

  /// Returns the record after numbers were seen that it may not have; none of them is signed again.
  func raising(to versions: [RoleName: Int64]) -> PublicationRecord {
    var next = self
    for (role, version) in versions where version > highest(role) {
      next.reserved[role] = version
    }
    return next
  }

  /// Returns the record for before the documents of `catalog` become visible.
  func reserving(_ catalog: SignedCatalog) -> PublicationRecord {
    var next = self
    next.bits = max(bits, catalog.bits)
    // A root always has the next version, even after an interrupted rotation.
    // The versions of bins are those of snapshots.
    for document in catalog.documents {
      if case .top(let role) = document.role, role != .root {
        next.reserved[role] = document.version
      }
    }
    return next
  }
}

extension PublicationRecord {
  /// Reads the record's file; nil if it is not a record.
  init?(json: JSONValue) {
    guard let firstRoot = SignedVersion(json: json["firstRoot"]) else { return nil }
    var signed: [RoleName: SignedVersion] = [:]
    var reserved: [RoleName: Int64] = [:]
    for role in RoleName.allCases {
      let known = json["signed"]?[role.rawValue]
      reserved[role] = json["reserved"]?[role.rawValue]?.integer
      // A repair that finds neither a record nor a timestamp begins without one.
      if role == .timestamp, known == nil { continue }
      guard let version = SignedVersion(json: known) else { return nil }
      signed[role] = version
    }
    self.init(
      firstRoot: firstRoot, signed: signed, reserved: reserved, bits: json["bits"]?.integer ?? 0)
  }

  var json: JSONValue {
    func object<Value>(_ values: [RoleName: Value], _ json: (Value) -> JSONValue) -> JSONValue {
      .object(values.reduce(into: [:]) { $0[$1.key.rawValue] = json($1.value) })
    }
    return .object([
      "firstRoot": firstRoot.json, "signed": object(signed, \.json),
      "reserved": object(reserved, JSONValue.integer), "bits": .integer(bits),
    ])
  }
}

extension SignedVersion {
  fileprivate init?(json: JSONValue?) {
    guard let version = json?["version"]?.integer, version > 0,
      let digest = json?["sha256"]?.string.flatMap({ Digest(hex: $0) })
    else { return nil }
    self.init(version: version, digest: digest)
  }

  fileprivate var json: JSONValue {
    .object(["version": .integer(version), "sha256": .string(digest.hex)])
  }
}
