import ContentModel
import FoundationEssentials
import Glibc

/// Results go to standard output, messages and progress to standard error.
struct Console: Sendable {
  var isQuiet = false
  /// Whether standard error is a terminal that a progress bar may draw on.
  let showsBars = isatty(STDERR_FILENO) == 1 && Self.environment("TERM") != "dumb"

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Prints a result.
  func print(_ text: String) { Self.write(text + "\n", to: STDOUT_FILENO) }

  /// Prints `value` as JSON with sorted keys.
  func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Prints rows in columns under `heading`.
  func print(table rows: [[String]], heading: [String]) {
    let widths = heading.indices.map { column in
      ([heading] + rows).map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    for row in [heading] + rows {
      let cells = row.enumerated().map { column, text in
        column == row.count - 1
          ? text : text + String(repeating: " ", count: widths[column] - text.count)
      }
      print(cells.joined(separator: "  "))
    }
  }

  /// Prints a message for the person who runs the command.
  func note(_ text: String) {
    if !isQuiet { Self.write(text + "\n", to: STDERR_FILENO) }
  }

  /// Prints an error and what to do about it, also when quiet.
  func report(_ error: ContentError) {
    Self.write(
      "hostedcontent: \(error.errorDescription ?? error.message). \(error.remedy). [\(error.code.rawValue)]\n",
      to: STDERR_FILENO)
  }

  /// Draws on the terminal; the text is written as it is.
  func draw(_ text: String) {
    if !isQuiet { Self.write(text, to: STDERR_FILENO) }
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { return }
      bytes = bytes.dropFirst(max(0, count))
    }
  }

  /// Bytes as a person reads them: 1.2 MB.
  static func bytes(_ count: Int64) -> String {
    var value = Double(count)
    for unit in ["bytes", "kB", "MB"] {
      if value < 1000 { return unit == "bytes" ? "\(count) bytes" : "\(rounded(value)) \(unit)" }
      value /= 1000
    }
    return "\(rounded(value)) GB"
  }

  private static func rounded(_ value: Double) -> String {
    let tenths = Int64((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
