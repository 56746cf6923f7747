import HostedDigests
import HostedModel

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

  package init(_ bins: HashBins, signedBy keys: KeyList) {
    self.keys = keys
    kind = .hashBins(bins)
    json = .object(["keys": keys.json, "succinct_roles": bins.json])
  }

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

/// A path pattern of a delegation: `*`, `?` and `[…]` match within one component, never a `/`.
///
/// Names are compared by Unicode scalars, so that a pattern has the same meaning for every client.
/// Matching takes time proportional to pattern length times name length, for any number of stars.
package struct PathPattern: Hashable, Sendable {
  private let components: [[Unicode.Scalar]]

  package init(_ text: String) { components = Self.components(of: text) }

  static func components(of text: String) -> [[Unicode.Scalar]] {
    text.pathComponents(omittingEmpty: false).map { Array($0.unicodeScalars) }
  }

  /// Whether `path` has as many components as the pattern, and all of them match.
  package func matches(_ path: String) -> Bool { matches(Self.components(of: path)) }

  /// Whether a path with the components `path` matches.
  func matches(_ path: [[Unicode.Scalar]]) -> Bool {
    path.count == components.count
      && zip(components, path).allSatisfy { Self.matches($0, $1) }
  }

  private static func matches(_ pattern: [Unicode.Scalar], _ text: [Unicode.Scalar]) -> Bool {
    // Searched once: a search from each `[` without a `]` would multiply the time.
    let lastBracket = pattern.lastIndex(of: "]") ?? 0
    var (place, position) = (0, 0)
    // Where to continue if the pattern after the last star does not match here.
    var retry: (place: Int, position: Int)?
    while position < text.count {
      if place < pattern.count, pattern[place] == "*" {
        place += 1
        retry = (place, position)
      } else if let next = step(pattern, place, text[position], lastBracket) {
        (place, position) = (next, position + 1)
      } else if let last = retry {
        retry = (last.place, last.position + 1)
        (place, position) = (last.place, last.position + 1)
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == "*" }
  }

  /// Returns the next position in the pattern if it matches `scalar`; nil otherwise.
  ///
  /// `lastBracket` is the position of the last `]`.
  private static func step(
    _ pattern: [Unicode.Scalar], _ place: Int, _ scalar: Unicode.Scalar, _ lastBracket: Int
  ) -> Int? {
    guard place < pattern.count else { return nil }
    switch pattern[place] {
    case "?": return place + 1
    case "[":
      guard place < lastBracket, let (end, matches) = set(pattern, place, scalar) else {
        // Without a closing bracket, `[` is an ordinary character.
        return scalar == "[" ? place + 1 : nil
      }
      return matches ? end : nil
    case let other: return other == scalar ? place + 1 : nil
    }
  }

  /// Reads `[abc]`, `[a-z]` or `[!a-z]`; returns its end and whether it contains `scalar`.
  private static func set(_ pattern: [Unicode.Scalar], _ place: Int, _ scalar: Unicode.Scalar)
    -> (end: Int, matches: Bool)?
  {
    var next = place + 1
    let isNegated = next < pattern.count && pattern[next] == "!"
    if isNegated { next += 1 }
    let first = next
    var isMember = false
    while next < pattern.count, pattern[next] != "]" || next == first {
      if next + 2 < pattern.count, pattern[next + 1] == "-", pattern[next + 2] != "]" {
        let (low, high) = (pattern[next], pattern[next + 2])
        if low <= scalar, scalar <= high { isMember = true }
        next += 3
      } else {
        if pattern[next] == scalar { isMember = true }
        next += 1
      }
    }
    return next < pattern.count ? (next + 1, isMember != isNegated) : nil
  }
}

/// Roles for ranges of hashes of target names (TAP 15, succinct hash bin delegations).
package struct HashBins: Sendable {
  /// The keys that sign each bin.
  package let keys: RoleKeys
  /// There are 2 to the power of `bits` bins; 1 to 32.
  package let bits: Int64
  private let prefix: String

  /// The prefix of the names of the bins of a store of this library.
  static let storePrefix = "bin"

  /// Whether `name` is the name of a bin of a store of this library, for any number of bins.
  package static func isStoreBin(_ name: String) -> Bool {
    guard name.hasPrefix("\(storePrefix)-") else { return false }
    let number = name.dropFirst(storePrefix.count + 1)
    return (1...8).contains(number.utf8.count)
      && number.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }

  package init(bits: Int64, keys: RoleKeys, prefix: String) {
    (self.bits, self.keys, self.prefix) = (bits, keys, prefix)
  }

  init(_ field: MetadataField) throws {
    keys = try RoleKeys(field)
    bits = try field["bit_length"].integer(atLeast: 1)
    prefix = try field["name_prefix"].string(atMost: MetadataLimits.identifierLength)
    guard bits <= 32,
      PercentEncoding.component(prefix).utf8.count + 9 <= MetadataLimits.identifierLength
    else {
      throw ContentError.metadataDamaged(
        field.role, "\(field.path) has more than 32 bits or a prefix that is too long")
    }
  }

  /// The name of the bin of `target`, by the SHA-256 of its name.
  package func name(for target: String) throws -> String {
    let digest = try Digest(of: Array(target.utf8))
    let start = digest.bytes.prefix(4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return name(of: start >> UInt64(32 - bits))
  }

  package var names: [String] { (0..<(UInt64(1) << UInt64(bits))).map(name(of:)) }

  private var digits: Int { String((UInt64(1) << UInt64(bits)) - 1, radix: 16).utf8.count }

  private func name(of bin: UInt64) -> String {
    let number = String(bin, radix: 16)
    return "\(prefix)-\(String(repeating: "0", count: digits - number.utf8.count))\(number)"
  }

  func contains(_ name: String) -> Bool {
    guard name.hasPrefix("\(prefix)-") else { return false }
    guard let bin = UInt64(name.dropFirst(prefix.count + 1), radix: 16) else { return false }
    return bin < (UInt64(1) << UInt64(bits)) && self.name(of: bin) == name
  }

  var json: JSONValue {
    guard case .object(var members) = keys.json else { return keys.json }
    members["bit_length"] = .integer(bits)
    members["name_prefix"] = .string(prefix)
    return .object(members)
  }
}
