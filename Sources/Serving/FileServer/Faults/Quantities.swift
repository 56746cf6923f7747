import HostedModel

/// Parses quantities on the command line and in fault scripts.
package enum Quantities {
  private static let byteUnits: [(name: String, bytes: Int64)] = [
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("kB", 1_000), ("MB", 1_000_000),
    ("GB", 1_000_000_000), ("", 1),
  ]

  /// Bytes: `100`, `64kB`, `1MiB`; nil for other text and for more than 63 bits.
  package static func bytes(_ text: some StringProtocol) -> Int64? {
    for unit in byteUnits where text.hasSuffix(unit.name) {
      guard let number = whole(text.dropLast(unit.name.count)) else { return nil }
      let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
      return overflow ? nil : bytes
    }
    return nil
  }

  /// Bytes per second, at least 1: `500kB/s`, `50MB/s`.
  package static func rate(_ text: String) -> Int64? {
    guard text.hasSuffix("/s"), let bytes = bytes(text.dropLast(2)), bytes > 0 else { return nil }
    return bytes
  }

  /// A duration of at most one day: `20ms`, `1.5s`, `2m`.
  package static func time(_ text: String) -> Duration? {
    for (unit, seconds) in [("ms", 0.001), ("s", 1.0), ("m", 60.0)] where text.hasSuffix(unit) {
      let number = text.dropLast(unit.count)
      guard number.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }),
        let value = Double(number), value * seconds <= 86_400
      else { return nil }
      return .seconds(value * seconds)
    }
    return nil
  }

  /// Only decimal digits.
  static func whole(_ text: some StringProtocol) -> Int64? {
    text.utf8.allSatisfy(\.isDigit) ? Int64(text) : nil
  }
}
