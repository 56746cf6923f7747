import HostedModel
import HostedDigests

/// The delegations of a targets role.
package struct Delegations: Sendable {
  let keys: KeyList
  /// The object as it was read, with members that this version does not know.
  let json: JSONValue
  private let kind: Kind

  private enum Kind: Sendable {
    /// In search order.
    case listed([DelegatedRole])
    case hashBins(HashBins)
  }

  /// The hash bins; nil if the roles are listed.
  package var bins: HashBins? { if case .hashBins(let bins) = kind { bins } else { nil } }

  /// Delegates to hash bins, which `keys` sign.
  package init(_ bins: HashBins, signedBy keys: KeyList) {
    self.keys = keys
    kind = .hashBins(bins)
    json = .object(["keys": keys.json, "succinct_roles": bins.json])
  }

  /// Reads a `delegations` object.
  init(_ field: MetadataField) throws {
    json = field.value
    keys = try KeyList(field["keys"])
    let (name, member) = try field.onlyOne(of: "roles", "succinct_roles")
    kind = name == "roles" ? .listed(try Self.listed(member)) : .hashBins(try HashBins(member))
  }

  private static func listed(_ field: MetadataField) throws -> [DelegatedRole] {
    let roles = try field.elements(atMost: MetadataLimits.delegations).map(DelegatedRole.init)
    var names: Set<String> = []
    for role in roles where !names.insert(role.name).inserted {
      throw ContentError.metadataDamaged(
        field.role, "\(field.path) names the role \(role.name.prefix(100)) twice")
    }
    return roles
  }

  /// Returns the roles to search for `target`, in order, up to the first terminating role.
  func roles(for target: String) throws -> [(name: String, isTerminating: Bool)] {
    switch kind {
    case .listed(let roles):
      let searched = try SearchedTarget(target)
      var asked: [(name: String, isTerminating: Bool)] = []
      for role in roles where role.isTrusted(for: searched) {
        asked.append((role.name, role.isTerminating))
        if role.isTerminating { break }
      }
      return asked
    case .hashBins(let bins): return [(try bins.name(for: target), false)]
    }
  }

  /// Returns the signers that metadata of `role` needs; nil if `role` is not delegated here.
  func signers(of role: String, source: String) -> Signers? {
    let found: RoleKeys? =
      switch kind {
      case .listed(let roles): roles.first { $0.name == role }?.keys
      case .hashBins(let bins): bins.contains(role) ? bins.keys : nil
      }
    return found.map { Signers(keys: keys.keys, required: $0, source: source) }
  }
}

/// A delegated role and its scope.
struct DelegatedRole: Sendable {
  let name: String
  let keys: RoleKeys
  /// Whether the roles after it in the list are not searched for a target in its scope.
  let isTerminating: Bool
  private let scope: Scope

  private enum Scope: Sendable {
    case patterns([PathPattern])
    /// Prefixes of the SHA-256 of a target's name, in hexadecimal digits.
    case hashPrefixes([String])
  }

  init(_ field: MetadataField) throws {
    name = try field["name"].string(atMost: MetadataLimits.identifierLength)
    let encodedLength = PercentEncoding.component(name).utf8.count
    guard !name.isEmpty, encodedLength <= MetadataLimits.identifierLength,
      RoleName(rawValue: name) == nil, name != ".", name != ".."
    else {
      throw ContentError.metadataDamaged(
        field.role, "\(field.path).name “\(name.prefix(100))” is not a valid role name")
    }
    keys = try RoleKeys(field)
    isTerminating = try field["terminating"].bool
    scope = try Self.scope(field)
  }

  private static func scope(_ field: MetadataField) throws -> Scope {
    let (name, member) = try field.onlyOne(of: "paths", "path_hash_prefixes")
    let texts = try member.elements(atMost: MetadataLimits.patterns)
    if name == "paths" {
      return .patterns(
        try texts.map { PathPattern(try $0.string(atMost: MetadataLimits.nameLength)) })
    }
    return .hashPrefixes(try texts.map { try $0.string(atMost: 64) })
  }

  /// Whether the scope contains `target`.
  func isTrusted(for target: SearchedTarget) -> Bool {
    switch scope {
    case .patterns(let patterns): patterns.contains { $0.matches(target.components) }
    case .hashPrefixes(let prefixes): prefixes.contains { target.hash.hasPrefix($0) }
    }
  }
}

/// The name of a target, prepared for the comparison with many scopes.
struct SearchedTarget {
  let components: [[Unicode.Scalar]]
  /// The SHA-256 of the name, in hexadecimal digits.
  let hash: String

  init(_ name: String) throws {
    components = PathPattern.components(of: name)
    hash = try Digest(of: Array(name.utf8)).hex
  }
}
