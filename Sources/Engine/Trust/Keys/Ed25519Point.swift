import HostedModel

/// The rules for public keys of Ed25519 that libcrypto does not check (RFC 8032, section 5.1.3).
enum Ed25519Point {
  /// The prime 2^255 - 19, least significant byte first, as in a key.
  private static let prime: [UInt8] = [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f]
  /// The y coordinates of the eight points of small order, for which anyone can forge signatures.
  private static let smallOrder = Set(
    [
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ].compactMap(Hexadecimal.bytes(of:)))

  /// Whether the 32 bytes of `key` are the canonical encoding of a point that is not of small
  /// order.
  static func isUsable(_ key: [UInt8]) -> Bool {
    guard let last = key.last else { return false }
    // The highest bit is the sign of x. Only two points of small order are equal for both signs.
    let y: [UInt8] = key.dropLast() + [last & 0x7f]
    return y.reversed().lexicographicallyPrecedes(prime.reversed()) && !smallOrder.contains(y)
  }
}
