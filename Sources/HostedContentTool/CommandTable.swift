import ContentModel

/// All commands, and how words become one.
enum CommandTable {
  static let version = "0.1.0"
  static let versionLine = "hostedcontent \(version)"

  static let commands: [Command] = [
    PackageCommand.command, InspectCommand.command, ValidateCommand.command, UnpackCommand.command,
    StoreInitCommand.command, StorePublishCommand.command, StoreAddCommand.command,
    StoreListCommand.command, StoreRetireCommand.command, StoreRefreshCommand.command,
    StoreRotateCommand.command, StoreRepairCommand.command, ServeCommand.command,
    ProductsCommand.command, GetCommand.command, UpdatesCommand.command, UpdateCommand.command,
    ListCommand.command, RestoreCommand.command, QueueCommand.command, VerifyCommand.command,
    RepairCommand.command, RemoveCommand.command,
    PinCommand.command, CollectCommand.command, AppUpdateCommand.command,
    CompletionCommand.command,
  ]

  /// Commands for scripts, which help does not list.
  private static let unlisted = [ManualCommand.command]

  /// The command that `words` begin with and what follows it; nil when help was all they asked.
  static func find(_ words: [String], _ console: Console) throws -> (Command, [String])? {
    switch words.first {
    case nil: throw Arguments.wrong("No command was given", "")
    case "--help", "-h":
      console.print(document: help)
      return nil
    case "help": return try find(Array(words.dropFirst()) + ["--help"], console)
    case "--version":
      console.print(versionLine)
      return nil
    default: break
    }
    // Two words before one, so that `store init` is not an unknown command `store`.
    for count in [2, 1] {
      let name = words.prefix(count).joined(separator: " ")
      if let command = (commands + unlisted).first(where: { $0.name == name }) {
        return (command, Array(words.dropFirst(count)))
      }
    }
    let group = commands.filter { $0.name.hasPrefix((words.first ?? "") + " ") }
    guard !group.isEmpty else {
      throw Arguments.wrong("Unknown command “\(words.first ?? "")”", "")
    }
    let name = words.first ?? ""
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
    case let second?: throw Arguments.wrong("Unknown command “\(name) \(second)”", name)
    }
  }

  private static func lines(of commands: [Command]) -> String {
    let width = commands.map(\.name.count).max() ?? 0
    return commands.map { command in
      let gap = String(repeating: " ", count: width - command.name.count)
      return "  \(command.name)\(gap)  \(command.summary)"
    }.joined(separator: "\n")
  }

  private static var help: String {
    return """
      Usage: hostedcontent COMMAND [options]

      Publishes, downloads and installs hosted content packages.

      Commands:
      \(lines(of: commands))

      hostedcontent COMMAND --help shows its options and an example.
      hostedcontent --version shows the version.

      Exit status: 0 done; 1 something failed; 2 wrong usage; 3 nothing to update, where
      --require-update made that an error.

      Example:
        \(GetCommand.command.example)
      """
  }
}
