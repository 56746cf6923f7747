package enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Returns the lower-case digits of `bytes`.
  package static func text(of bytes: some Collection<UInt8>) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
      for (index, byte) in bytes.enumerated() {
        buffer[2 * index] = digits[Int(byte >> 4)]
        buffer[2 * index + 1] = digits[Int(byte & 15)]
      }
      return bytes.count * 2
    }
  }

  /// Returns the bytes for digits of either case; nil for an odd count or other characters.
  package static func bytes(of text: some StringProtocol) -> [UInt8]? {
    let utf8 = Array(text.utf8)
    guard utf8.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count / 2)
    for index in stride(from: 0, to: utf8.count, by: 2) {
      guard let high = value(utf8[index]), let low = value(utf8[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Returns a random UUID (RFC 9562, version 4) in lower case.
///
/// Its bits come from the system's generator, which does not need a file descriptor. Foundation's
/// `UUID()` returns a constant if the process cannot open one.
package func randomIdentifier() -> String {
  var generator = SystemRandomNumberGenerator()
  let high: UInt64 = generator.next() & ~0xf000 | 0x4000
  let low: UInt64 = generator.next() & ~(3 << 62) | 2 << 62
  let bytes = [high, low].flatMap { half in withUnsafeBytes(of: half.bigEndian) { Array($0) } }
  var text = Array(Hexadecimal.text(of: bytes).utf8)
  for position in [20, 16, 12, 8] { text.insert(UInt8(ascii: "-"), at: position) }
  return String(decoding: text, as: UTF8.self)
}
