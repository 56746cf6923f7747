import ContentStore

enum CompletionCommand {
  static let command = Command(
    name: "completion",
    summary: "Prints a completion script for bash or zsh.",
    operands: "bash|zsh", options: [],
    example:
      "hostedcontent completion bash > ~/.local/share/bash-completion/completions/hostedcontent",
    run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    switch arguments.operands[0] {
    case "bash": console.print(document: BashCompletion.script)
    case "zsh": console.print(document: ZshCompletion.script)
    case let shell:
      throw arguments.wrong("Unsupported shell “\(shell)”, expected bash or zsh")
    }
    return .done
  }
}

extension CommandTable {
  /// The first words of the commands in order, with their commands.
  static var groups: [(word: String, commands: [Command])] {
    commands.reduce(into: []) { groups, command in
      let word = command.words[0]
      if let place = groups.firstIndex(where: { $0.word == word }) {
        groups[place].commands.append(command)
      } else {
        groups.append((word, [command]))
      }
    }
  }

  /// The groups with a second word.
  static var nestedGroups: [(word: String, commands: [Command])] {
    groups.filter { $0.commands[0].words.count > 1 }
  }
}

extension Command {
  var words: [String] { name.split(separator: " ").map(String.init) }

  /// The completions of the operands, in order; the last one may be repeated.
  var completions: [Completion] {
    operands.split(separator: " ").map { word in
      let name = word.filter { !"[]…".contains($0) }
      // Complete installed products only: a store may be far away.
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
}

/// The completion of an operand or of an option's value.
enum Completion {
  case file
  case folder
  case package
  case installed
  case installedVersion
  case words([String])
  case nothing

  /// The completion of a value with this name in the help.
  init(value: String) {
    self =
      value.contains("FOLDER") || value == "STORE"
      ? .folder : value.contains("FILE") || value == "ARCHIVE" ? .file : .nothing
  }
}
