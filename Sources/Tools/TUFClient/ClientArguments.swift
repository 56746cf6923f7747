import ContentModel

/// The parsed arguments.
///
/// Options may be anywhere.
struct ClientArguments {
  /// The action of the program.
  enum Action {
    /// Trusts the root in a file.
    case initialize(rootFile: String)
    /// Updates the metadata.
    case refresh(metadataURL: String)
    /// Updates the metadata, and fetches targets.
    case download(metadataURL: String, TargetRequest)
  }

  /// The targets to fetch, and their destination.
  struct TargetRequest {
    let names: [String]
    let baseURL: String
    let folder: String
  }

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

  let metadataFolder: String
  let action: Action

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
    func required(_ option: String) throws -> String {
      guard let value = values[option]?.last else { throw Self.wrong("\(option) is missing") }
      return value
    }
    metadataFolder = try required("--metadata-dir")
    switch (operands.first, operands.count) {
    case ("init", 2): action = .initialize(rootFile: operands[1])
    case ("refresh", 1): action = .refresh(metadataURL: try required("--metadata-url"))
    case ("download", 1):
      _ = try required("--target-name")
      action = .download(
        metadataURL: try required("--metadata-url"),
        TargetRequest(
          names: values["--target-name"] ?? [], baseURL: try required("--target-base-url"),
          folder: try required("--target-dir")))
    default: throw Self.wrong("Missing command: init ROOT_FILE, refresh or download")
    }
  }

  private static func wrong(_ message: String) -> ContentError {
    ContentError(.usage, message, remedy: "See tuf-client --help")
  }
}
