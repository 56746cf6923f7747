import FoundationEssentials

/// Grants as JSON lines, which are appended and never changed.
extension Grant {
  private static let newline = UInt8(ascii: "\n")

  /// Reads whole lines, each of which must be a grant; throws the decoder's error for one that is not.
  package static func read(lines: some Collection<UInt8>) throws -> [Grant] {
    try lines.split(separator: newline).map { line in
      try JSONDecoder().decode(Grant.self, from: Data(line))
    }
  }

  /// The grant as a line, its end included.
  package var line: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return try Array(encoder.encode(self)) + [Self.newline]
    }
  }
}
