import ContentStore

/// `completion`: what a shell needs to complete words of this tool.
enum CompletionCommand {
  static let command = Command(
    name: "completion",
    summary: "Prints a script that lets bash or zsh complete this tool's words.",
    operands: "bash|zsh", operandCount: 1...1, options: [],
    example:
      "hostedcontent completion bash > ~/.local/share/bash-completion/completions/hostedcontent",
    run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let words = CompletionWords(CommandTable.commands)
    switch arguments.operands[0] {
    case "bash": console.print(document: BashCompletion(words).script)
    case "zsh": console.print(document: ZshCompletion(words).script)
    case let shell:
      throw Arguments.wrong(
        "There is no completion for “\(shell)”, only bash and zsh", "completion")
    }
    return .done
  }
}

/// The commands as a shell meets them: a first word, and a second one where there is a group.
struct CompletionWords {
  let commands: [Command]
  /// First words in their order, with the commands that begin with them.
  let groups: [(word: String, commands: [Command])]

  init(_ commands: [Command]) {
    self.commands = commands
    var groups: [(word: String, commands: [Command])] = []
    for command in commands {
      let word = command.words[0]
      if let place = groups.firstIndex(where: { $0.word == word }) {
        groups[place].commands.append(command)
      } else {
        groups.append((word, [command]))
      }
    }
    self.groups = groups
  }

  /// Groups of commands with a second word.
  var nested: [(word: String, commands: [Command])] {
    groups.filter { $0.commands[0].words.count > 1 }
  }
}

extension Command {
  /// The words that call it.
  var words: [String] { name.split(separator: " ").map(String.init) }

  /// What shells offer for its operands, in their order; the last one may be repeated.
  var completions: [Completion] {
    operands.split(separator: " ").map { word in
      let name = word.filter { !"[]…".contains($0) }
      // What is installed is known; what a store offers may be far away.
      let isInstalled = options.contains { $0.name == "--library" && $0.isRequired }
      return switch name {
      case "FILE.pkg": .package
      case "ROLE": .words(StoreRole.allCases.map(\.rawValue))
      case "ID" where isInstalled && self.name != GetCommand.command.name: .installed
      case "VERSION" where isInstalled: .installedVersion
      case let choices where choices.contains("|"):
        .words(choices.split(separator: "|").map(String.init))
      default: Completion(value: name)
      }
    }
  }

  /// Whether the last operand may be repeated.
  var repeatsOperand: Bool { operands.contains("…") }
}

/// What a shell offers in the place of an operand, or of an option's value.
enum Completion {
  case file
  case folder
  case package
  case installed
  case installedVersion
  case words([String])
  case nothing

  /// What is offered for a value called `value` in help.
  init(value: String) {
    self =
      value.contains("FOLDER") || value == "STORE"
      ? .folder : value.contains("FILE") || value == "ARCHIVE" ? .file : .nothing
  }
}
