import ContentModel

/// All commands, and how words become one.
enum CommandTable {
  static let version = "0.1.0"

  static let commands: [Command] = [
    PackageCommand.command, InspectCommand.command, ValidateCommand.command, UnpackCommand.command,
    StoreInitCommand.command, StorePublishCommand.command, StoreAddCommand.command,
    StoreListCommand.command, StoreRefreshCommand.command, ProductsCommand.command,
    GetCommand.command, UpdatesCommand.command, UpdateCommand.command, ListCommand.command,
    QueueCommand.command, VerifyCommand.command,
  ]

  /// The command that `words` begin with and what follows it; nil when help was all they asked.
  static func find(_ words: [String], _ console: Console) throws -> (Command, [String])? {
    switch words.first {
    case nil: throw Arguments.wrong("No command was given", "")
    case "--help", "help":
      console.print(help)
      return nil
    case "--version":
      console.print("hostedcontent \(version)")
      return nil
    default: break
    }
    // Two words before one, so that `store init` is not an unknown command `store`.
    for count in [2, 1] {
      let name = words.prefix(count).joined(separator: " ")
      if let command = commands.first(where: { $0.name == name }) {
        return (command, Array(words.dropFirst(count)))
      }
    }
    let group = commands.filter { $0.name.hasPrefix((words.first ?? "") + " ") }
    if !group.isEmpty, words.dropFirst().allSatisfy({ $0 == "--help" }) {
      console.print(group.map { "\($0.name): \($0.summary)" }.joined(separator: "\n"))
      return nil
    }
    throw Arguments.wrong("Unknown command \(words.prefix(2).joined(separator: " "))", "")
  }

  private static var help: String {
    let width = commands.map(\.name.count).max() ?? 0
    let lines = commands.map { command in
      "  \(command.name)\(String(repeating: " ", count: width - command.name.count))  \(command.summary)"
    }
    return """
      Usage: hostedcontent COMMAND [options]

      Publishes, downloads and installs hosted content packages.

      Commands:
      \(lines.joined(separator: "\n"))

      hostedcontent COMMAND --help shows its options and an example.
      """
  }
}
