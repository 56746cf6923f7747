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
