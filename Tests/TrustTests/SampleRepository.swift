import HostedModel
import HostedTrust
import HostedDigests
import FoundationEssentials

/// A repository whose keys all belong to the test, so that it can sign hostile metadata.
struct SampleRepository {
  let sample: SampleMetadata
  /// Versions by role.
  var versions: [RoleName: Int64] = [.timestamp: 1, .snapshot: 1, .targets: 1]
  /// The files in the top-level targets.
  var files: [String: TargetFile] = [:]
  /// The delegated roles by name.
  var roles: [String: Delegated] = [:]
  /// The `delegations` of each role.
  ///
  /// The top-level role is `targets`.
  var delegations: [String: [JSONValue]] = [:]
  /// The keys in the delegations of each role.
  var delegatedKeys: [String: [String: SigningKey]] = [:]
  /// Replaces the lists in `delegations`, by role.
  var succinct: [String: JSONValue] = [:]

  /// A delegated role.
  struct Delegated {
    var version: Int64 = 1
    var files: [String: TargetFile] = [:]
    var expires: Date
    var keys: [SigningKey]
    /// Whether its signature is duplicated.
    var repeatsSignature = false
  }

  init(_ sample: SampleMetadata) { self.sample = sample }

  /// Returns the metadata of a target with these bytes.
  static func file(_ text: String) throws -> TargetFile {
    TargetFile(
      length: Int64(text.utf8.count), digest: try Digest(of: Array(text.utf8)))
  }

  /// Lets `delegator` delegate to `name`, with `keys` or a new key.
  mutating func delegate(
    _ delegator: String, to name: String, paths: [String] = ["*"], prefixes: [String]? = nil,
    terminating: Bool = false, keys: [SigningKey]? = nil, threshold: Int64 = 1
  ) throws {
    let signing = try keys ?? roles[name]?.keys ?? [SigningKey.generate()]
    if roles[name] == nil { roles[name] = Delegated(expires: sample.expires, keys: signing) }
    let identifiers = signing.map(\.publicKey.identifier)
    for (identifier, key) in zip(identifiers, signing) {
      delegatedKeys[delegator, default: [:]][identifier] = key
    }
    var members: [String: JSONValue] = [
      "name": .string(name), "terminating": .bool(terminating), "threshold": .integer(threshold),
      "keyids": .array(identifiers.map(JSONValue.string)),
    ]
    if let prefixes {
      members["path_hash_prefixes"] = .array(prefixes.map(JSONValue.string))
    } else {
      members["paths"] = .array(paths.map(JSONValue.string))
    }
    delegations[delegator, default: []].append(.object(members))
  }

  private func signed(_ role: TargetsRole, _ name: String) -> JSONValue {
    guard delegations[name] != nil || succinct[name] != nil else { return role.signed }
    let keys = (delegatedKeys[name] ?? [:]).mapValues(\.publicKey.json)
    var members: [String: JSONValue] = ["keys": .object(keys)]
    members["roles"] = delegations[name].map(JSONValue.array)
    members["succinct_roles"] = succinct[name]
    return role.signed.replacing("delegations", with: .object(members))
  }

  /// The current files of the store, by path.
  func published() throws -> [String: [UInt8]] {
    var published: [String: [UInt8]] = [:]
    var promises: [String: MetadataFile] = [:]
    for (name, role) in roles {
      let content = TargetsRole(version: role.version, expires: role.expires, targets: role.files)
      let signed = try RoleSigner(keys: role.keys).sign(signed(content, name))
      let bytes = role.repeatsSignature ? try signed.repeatingSignature() : signed
      let encoded = MetadataName.delegated(name).encodedFileName
      published["metadata/\(role.version).\(encoded)"] = bytes
      promises["\(name).json"] = try MetadataFile(version: role.version, bytes: bytes)
    }
    let (timestamp, snapshot, targets) = (
      versions[.timestamp] ?? 1, versions[.snapshot] ?? 1, versions[.targets] ?? 1
    )
    let top = TargetsRole(version: targets, expires: sample.expires, targets: files)
    let targetsBytes = try sample.signer(.targets).sign(signed(top, "targets"))
    let snapshotBytes = try sample.signer(.snapshot).sign(
      SnapshotRole(
        version: snapshot, expires: sample.expires,
        targets: MetadataFile(version: targets, bytes: targetsBytes), others: promises))
    published["metadata/\(targets).targets.json"] = targetsBytes
    published["metadata/\(snapshot).snapshot.json"] = snapshotBytes
    published["metadata/timestamp.json"] = try sample.timestamp(
      timestamp, snapshot: snapshotBytes, snapshot)
    return published
  }

  /// Increments the version of everything except delegated roles.
  mutating func advance() {
    for role in versions.keys { versions[role, default: 0] += 1 }
  }
}
