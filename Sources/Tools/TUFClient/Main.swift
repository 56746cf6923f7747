import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials
import Glibc

/// The door for conformance suites of The Update Framework: the client, and nothing around it.
@main
enum Main {
  static func main() {
    // A server that hangs up must not end the process without a word.
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

  /// Ends the process without exit handlers: OpenSSL's free what the thread of a session, which may
  /// be closing its connections just then, frees too.
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
    // The folder belongs to whoever called: only metadata is kept in it, and their clock is right.
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
