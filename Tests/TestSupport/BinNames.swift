package import HostedModel
import HostedDigests

/// Product identifiers by the hash bin of their entries.
package enum BinNames {
  /// Returns identifiers whose entries are in the bin with the number `bin`.
  ///
  /// There are 2 to the power of `bits` bins, at most 256. Each identifier starts with `prefix`.
  package static func products(_ count: Int, prefix: String, bin: Int, bits: Int) throws
    -> [ProductIdentifier]
  {
    var found: [ProductIdentifier] = []
    var number = 0
    while found.count < count {
      number += 1
      let product = try ProductIdentifier(validating: "\(prefix)\(number)")
      if try self.bin(of: product, bits: bits) == bin { found.append(product) }
    }
    return found
  }

  /// The number of the bin of `product`: the first bits of the SHA-256 of its target's name.
  package static func bin(of product: ProductIdentifier, bits: Int) throws -> Int {
    let digest = try Digest(of: Array("\(product)/product.json".utf8))
    return Int(digest.bytes[0]) >> (8 - bits)
  }

  /// Returns 129 identifiers, one more than a single list can have.
  package static func tooManyForOneList() throws -> [ProductIdentifier] {
    try (1...129).map { try ProductIdentifier(validating: "p\($0)") }
  }
}
