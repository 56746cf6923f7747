import ContentModel
import ContentTrust
import FileIO
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
    do {
      try carryOut(ClientArguments(words))
      leave(0)
    } catch {
      let error = ContentError(error, while: "running tuf-client")
      let cause = error.cause.map { " (\($0))" } ?? ""
      let line = "tuf-client: \(error.message)\(cause). \(error.remedy).".printable()
      let text = Array("\(line)\n".utf8)
      _ = write(STDERR_FILENO, text, text.count)
      leave(1)
    }
  }

  /// Ends the process without exit handlers.
  ///
  /// OpenSSL's handlers free memory that the thread of a session may free at the same time while it
  /// closes connections.
  private static func leave(_ status: Int32) -> Never { _exit(status) }

  private static func carryOut(_ arguments: ClientArguments) throws {
    let folder = try FileSystem.real.directory(at: arguments.metadataFolder, creating: true)
    switch arguments.action {
    case .initialize(let path):
      let root = try FileSystem.real.file(at: path).contents(limit: RoleName.root.limit)
      _ = try TrustedMetadata(root: root)
      try folder.replaceFile(RoleName.root.fileName, with: root)
    case .refresh(let url): _ = try refreshed(folder, url)
    case .download(let url, let request): try download(request, folder, url)
    }
  }

  private static func refreshed(_ folder: Directory, _ url: String) throws
    -> (TrustClient, TrustedTargets)
  {
    // The caller owns the folder, which has only metadata, and the clock is not checked.
    let client = TrustClient(
      trustFolder: folder, fetcher: try RepositoryFetcher(url), watchesClock: false,
      now: { Date() })
    return (client, try client.refresh(initialRoot: nil))
  }

  private static func download(
    _ request: ClientArguments.TargetRequest, _ folder: Directory, _ url: String
  ) throws {
    let (client, targets) = try refreshed(folder, url)
    let source = try RepositoryFetcher(request.baseURL)
    let place = try TargetFolder(request.folder)
    for name in request.names {
      try place.provide(
        name, client.target(name), consistent: targets.usesConsistentSnapshots, from: source)
    }
  }
}
