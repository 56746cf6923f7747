import HostedModel

/// The range of a request for a representation of known size (RFC 9110, 14.1 and 14.2).
package enum ByteRange: Equatable {
  /// No range, several ranges, another unit, or a malformed header, which must be ignored.
  case whole
  case part(Range<Int64>)
  case unsatisfiable

  /// Parses the value of a Range header.
  package init(_ header: String?, size: Int64) {
    guard let bounds = header.flatMap(Self.bounds) else {
      self = .whole
      return
    }
    switch bounds {
    case (nil, let suffix?):
      // A range cannot describe an empty file, but the whole file can be sent.
      self = size == 0 ? .whole : suffix == 0 ? .unsatisfiable : .part(max(0, size - suffix)..<size)
    case (let first?, let last):
      if let last, last < first {
        self = .whole
      } else if first >= size {
        self = .unsatisfiable
      } else {
        self = .part(first..<min(size - 1, last ?? .max) + 1)
      }
    case (nil, nil): self = .whole
    }
  }

  /// The two numbers of `bytes=a-b`; nil for any other header.
  private static func bounds(_ header: String) -> (Int64?, Int64?)? {
    let sides = header.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2, sides[0].lowercased() == "bytes" else { return nil }
    let numbers = sides[1].split(separator: "-", omittingEmptySubsequences: false)
    guard numbers.count == 2 else { return nil }
    let (first, last) = (trimmed(numbers[0]), trimmed(numbers[1]))
    guard first.utf8.allSatisfy(\.isDigit), last.utf8.allSatisfy(\.isDigit) else { return nil }
    return (number(first), number(last))
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }

  /// The value of digits; numbers beyond 63 bits become the maximum.
  private static func number(_ digits: Substring) -> Int64? {
    digits.isEmpty ? nil : Int64(digits) ?? .max
  }
}

/// A `Content-Range` of bytes (RFC 9110 §14.4).
package struct ContentRange: Hashable, Sendable {
  /// The range, or nil for an unsatisfied range.
  package var bytes: Range<Int64>?
  /// The total length in bytes, or nil if the server does not know it.
  package var total: Int64?

  package init(bytes: Range<Int64>?, total: Int64?) {
    self.bytes = bytes
    self.total = total
  }

  /// The value of the header.
  package var text: String {
    let bytes = bytes.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "*"
    return "bytes \(bytes)/\(total.map(String.init) ?? "*")"
  }

  /// Parses `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`, or nil for anything else.
  package init?(_ text: String) {
    let words = text.trimmed.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    total = Int64(digits: parts[1])
    guard total != nil || parts[1] == "*" else { return nil }
    if parts[0] == "*" {
      guard total != nil else { return nil }
      bytes = nil
      return
    }
    let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard bounds.count == 2, let first = Int64(digits: bounds[0]),
      let last = Int64(digits: bounds[1]), first <= last, last < .max, last < total ?? .max
    else { return nil }
    bytes = first..<(last + 1)
  }
}
