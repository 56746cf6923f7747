import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials
import Glibc

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
