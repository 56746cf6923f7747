import FoundationEssentials
import Glibc
import HostedFileIO
import HostedModel
import HostedTrust

/// The client of The Update Framework as a program, for conformance suites.
@main
enum Main {
  static func main() {
    // A closed connection must not kill the process silently.
    signal(SIGPIPE, SIG_IGN)
    let words = Array(CommandLine.arguments.dropFirst())
    if words.contains("--help") {
      print(ClientArguments.usage)
      return
    }
    // The process ends without exit handlers: those of OpenSSL free memory that the thread of a
    // session may free at the same time while it closes connections.
    do {
      try carryOut(ClientArguments(words))
      _exit(0)
    } catch {
      let error = ContentError(error, while: "running tuf-client")
      let cause = error.cause.map { " (\($0))" } ?? ""
      let line = "tuf-client: \(error.message)\(cause). \(error.remedy).".printable()
      let text = Array("\(line)\n".utf8)
      _ = write(STDERR_FILENO, text, text.count)
      _exit(1)
    }
  }

  private static func carryOut(_ arguments: ClientArguments) throws {
    switch (arguments.operands.first, arguments.operands.count) {
    case ("init", 2):
      let folder = try metadataFolder(arguments)
      let root = try FileSystem.real.file(at: arguments.operands[1])
        .contents(limit: RoleName.root.limit)
      _ = try TrustedMetadata(root: root)
      try folder.replaceFile(RoleName.root.fileName, with: root)
    case ("refresh", 1): _ = try refreshed(arguments)
    case ("download", 1): try download(arguments)
    default:
      throw ClientArguments.wrong("Missing command: init ROOT_FILE, refresh or download")
    }
  }

  private static func metadataFolder(_ arguments: ClientArguments) throws -> Directory {
    try FileSystem.real.directory(at: arguments.required("--metadata-dir"), creating: true)
  }

  private static func refreshed(_ arguments: ClientArguments) throws -> TrustedTargets {
    let fetcher = try RepositoryFetcher(arguments.required("--metadata-url"))
    // The caller owns the folder, which has only metadata, and the clock is not checked.
    let client = TrustClient(
      trustFolder: try metadataFolder(arguments), fetcher: fetcher, watchesClock: false,
      now: { Date() })
    return try client.refresh(initialRoot: nil)
  }

  private static func download(_ arguments: ClientArguments) throws {
    let names = try arguments.allRequired("--target-name")
    let baseURL = try arguments.required("--target-base-url")
    let folder = try arguments.required("--target-dir")
    let targets = try refreshed(arguments)
    let source = try RepositoryFetcher(baseURL)
    let place = try TargetFolder(folder)
    for name in names {
      try place.provide(
        name, targets.target(name), consistent: targets.usesConsistentSnapshots, from: source)
    }
  }
}

/// The words of the command line, sorted into options and operands; options may be anywhere.
private struct ClientArguments {
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
