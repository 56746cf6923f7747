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

  /// The grants as lines, each with its end.
  package static func lines(_ grants: [Grant]) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try grants.flatMap { try Array(encoder.encode($0)) + [newline] }
  }
}
