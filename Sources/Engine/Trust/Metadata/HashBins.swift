import HostedModel
import HostedDigests

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

  /// Creates bins, which `keys` sign.
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

  /// The names of all bins, in order.
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
