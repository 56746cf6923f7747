/// Returns a random UUID (RFC 9562, version 4) in lower case.
///
/// Its bits come from the system's generator, which does not need a file descriptor. Foundation's
/// `UUID()` returns a constant if the process cannot open one.
package func randomIdentifier() -> String {
  var generator = SystemRandomNumberGenerator()
  let high: UInt64 = generator.next() & ~0xf000 | 0x4000
  let low: UInt64 = generator.next() & ~(3 << 62) | 2 << 62
  let bytes = [high, low].flatMap { half in
    (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) }
  }
  let digits = Hexadecimal.text(of: bytes).utf8
  var (text, position) = ("", digits.startIndex)
  for (number, count) in [8, 4, 4, 4, 12].enumerated() {
    let end = digits.index(position, offsetBy: count)
    text += (number == 0 ? "" : "-") + String(decoding: digits[position..<end], as: UTF8.self)
    position = end
  }
  return text
}
