import HostedModel

/// The words of the command line, sorted into options and operands; options may be anywhere.
struct ClientArguments {
  static let usage = """
    Usage: tuf-client --metadata-dir DIR init ROOT_FILE
           tuf-client --metadata-dir DIR --metadata-url URL refresh
           tuf-client --metadata-dir DIR --metadata-url URL --target-name NAME... \
    --target-base-url URL --target-dir DIR download

    The client of The Update Framework on its own, for conformance suites. URL is http://, https://
    or file://. Exit status: 0 done, 1 something failed.

    Example:
      tuf-client --metadata-dir trusted --metadata-url http://127.0.0.1:8080/metadata refresh
    """

  let operands: [String]
  private let values: [String: [String]]

  private static let options: Set = [
    "--metadata-dir", "--metadata-url", "--target-name", "--target-base-url", "--target-dir",
  ]

  /// Parses `words`; throws `usage` if they are invalid.
  init(_ words: [String]) throws {
    var operands: [String] = []
    var values: [String: [String]] = [:]
    var rest = words[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("--") else {
        operands.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(String.init)
      guard Self.options.contains(parts[0]),
        let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty
      else { throw Self.wrong("\(parts[0]) is unknown or has no value") }
      values[parts[0], default: []].append(value)
    }
    (self.operands, self.values) = (operands, values)
  }

  /// The value of `option`; the last one wins.
  func required(_ option: String) throws -> String {
    guard let value = values[option]?.last else { throw Self.wrong("\(option) is missing") }
    return value
  }

  /// All values of `option`, in order; there must be one.
  func allRequired(_ option: String) throws -> [String] {
    _ = try required(option)
    return values[option] ?? []
  }

  static func wrong(_ message: String) -> ContentError {
    ContentError(.usage, message, remedy: "See tuf-client --help")
  }
}
