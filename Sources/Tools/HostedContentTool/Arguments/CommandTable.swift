import HostedModel

enum CommandTable {
  static let version = "0.9.0"
  static let versionLine = "hostedcontent \(version)"

  static let commands: [Command] = [
    PackageCommand.command, InspectCommand.command, ValidateCommand.command, UnpackCommand.command,
    StoreInitCommand.command, StorePublishCommand.command, StoreAddCommand.command,
    StoreListCommand.command, StoreRetireCommand.retire, StoreRetireCommand.withdraw,
    StoreRefreshCommand.command, StoreRotateCommand.command, StoreRepairCommand.command,
    StoreRecoverCommand.command, StoreStatusCommand.command, StoreVerifyCommand.command,
    StorePruneCommand.command, StoreReceiptKeyCommand.command, StoreCheckCommand.command,
    ServeCommand.command,
    ProductsCommand.command, GetCommand.command, UpdatesCommand.command, UpdateCommand.command,
    ListCommand.command, RestoreCommand.command, QueueCommand.command, VerifyCommand.command,
    RepairCommand.command, RemoveCommand.command,
    PinCommand.command, CollectCommand.command, AppUpdateCommand.command,
    StoreServerRunCommand.command, StoreServerKeyCommand.command, StoreServerVoucherCommand.command,
    StoreServerReceiptKeyCommand.command, StoreServerImportCommand.command,
    StoreServerBackupCommand.command, PurchaseCommand.command,
    PurchaseListCommand.entitlements, PurchaseListCommand.history, DecisionCommand.approve,
    DecisionCommand.decline, DecisionCommand.refund, DecisionCommand.revoke,
    DecisionCommand.reverse, AccountEraseCommand.command, CompletionCommand.command,
  ]

  /// Commands for scripts, which the help does not list.
  private static let unlisted = [ManualCommand.command]

  /// Returns the command and the remaining words; nil if help was requested.
  static func find(_ words: [String], _ console: Console) throws -> (Command, [String])? {
    switch words.first {
    case nil: throw Arguments.wrong("Missing command", "")
    case "--help", "-h":
      console.print(document: help)
      return nil
    case "help": return try find(Array(words.drop { $0 == "help" }) + ["--help"], console)
    case "--version":
      console.print(versionLine)
      return nil
    default: break
    }
    // Try two words first, because `store init` is one command.
    for count in [2, 1] {
      let name = words.prefix(count).joined(separator: " ")
      if let command = (commands + unlisted).first(where: { $0.name == name }) {
        return (command, Array(words.dropFirst(count)))
      }
    }
    let name = words[0]
    let group = commands.filter { $0.name.hasPrefix("\(name) ") }
    guard !group.isEmpty else { throw unknown(name) }
    switch words.dropFirst().first {
    case "--help", "-h":
      console.print(
        document: """
          Usage: hostedcontent \(name) COMMAND [options]

          Commands:
          \(lines(of: group))

          Example:
            \(group[0].example)
          """)
      return nil
    case nil: throw Arguments.wrong("\(name) needs a command, such as \(group[0].name)", name)
    case let second?:
      let full = "\(name) \(second)"
      throw Arguments.wrong(
        "Unknown command “\(full)”", name,
        suggestion: Suggestion.question(full, among: group.map(\.name)))
    }
  }

  private static func unknown(_ word: String) -> ContentError {
    let firstWords = commands.map { $0.words[0] }
    var nearest = Suggestion.nearest(to: word, among: firstWords)
    if nearest == nil {
      // Find `store publish` for `publish`.
      let nested = commands.filter { $0.words.count > 1 }
      let seconds = nested.map { $0.words[1] }
      let second = seconds.contains(word) ? word : Suggestion.nearest(to: word, among: seconds)
      nearest = nested.first { $0.words[1] == second }?.name
    }
    return Arguments.wrong(
      "Unknown command “\(word)”", "",
      suggestion: nearest.map { "Did you mean “\($0)”? " } ?? "")
  }

  private static func lines(of commands: [Command]) -> String {
    let width = commands.map(\.name.count).max() ?? 0
    return commands.map { "  \($0.name.padded(to: width))  \($0.summary)" }.joined(separator: "\n")
  }

  private static var help: String {
    let statuses = ExitStatus.allCases.map { "  \("\($0.rawValue)".padded(to: 5))\($0.meaning)" }
    return """
      Usage: hostedcontent COMMAND [options]

      Publishes, downloads and installs hosted content packages.

      Commands:
      \(lines(of: commands))

      hostedcontent COMMAND --help shows its options and an example.
      hostedcontent --version shows the version.

      Exit status:
      \(statuses.joined(separator: "\n"))

      Example:
        \(GetCommand.command.example)
      """
  }
}
