import ContentModel
import HostedContent

/// `get`: buy, download, install, finish.
enum GetCommand {
  static let command = Command(
    name: "get", summary: "Buys, downloads and installs products; what is there is success.",
    operands: "ID…", operandCount: 1...Int.max, options: InstallSession.options,
    example: "hostedcontent get com.example.book.chapter1 --store store --library lib", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let session = try InstallSession(arguments, console)
    defer { session.close() }
    return await session.install(arguments.operands) ? .done : .failed
  }
}

/// `update`: what `updates` shows, downloaded and installed.
enum UpdateCommand {
  static let command = Command(
    name: "update", summary: "Installs newer versions of what is installed.", operands: "[ID…]",
    operandCount: 0...Int.max,
    options: InstallSession.options + [
      .init("--require-update", nil, "exit with 3 when there is nothing to update")
    ],
    example: "hostedcontent update --store store --library lib", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let session = try InstallSession(arguments, console)
    defer { session.close() }
    let outdated = try await session.outdated()
    var wanted = arguments.operands
    if wanted.isEmpty { wanted = outdated }
    if wanted.isEmpty || !outdated.contains(where: wanted.contains),
      arguments.has("--require-update")
    {
      console.note("Everything that is installed is up to date.")
      return .nothingToDo
    }
    if wanted.isEmpty { console.print("Everything that is installed is up to date.") }
    for text in wanted where try !session.isInstalled(text) {
      throw ContentError(
        .notInstalled, "\(text) is not installed", remedy: "Use hostedcontent get", subject: text)
    }
    return await session.install(wanted) ? .done : .failed
  }
}
