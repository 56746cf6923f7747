import FoundationEssentials

/// The completion of zsh, as a function file called `_hostedcontent` on its `fpath`.
struct ZshCompletion {
  let words: CompletionWords

  init(_ words: CompletionWords) { self.words = words }

  var script: String {
    """
    #compdef hostedcontent
    # zsh completion for hostedcontent; made by: hostedcontent completion zsh
    _hostedcontent() {
      local -a commands
      if ((CURRENT == 2)); then
        commands=(
    \(words.groups.map { described($0.word, $0.commands) }.joined(separator: "\n"))
        )
        _describe -t commands command commands
        return
      fi
      local command=$words[2]
      shift words
      ((CURRENT -= 1))
    \(words.nested.map(group).joined(separator: "\n"))
      case $command in
    \(words.commands.map(row).joined(separator: "\n"))
      esac
    }
    _hostedcontent "$@"
    """
  }

  private func described(_ word: String, _ commands: [Command]) -> String {
    let summary =
      commands[0].words.count > 1
      ? commands.map { $0.words[1] }.joined(separator: ", ") : commands[0].summary
    return "      \(quoted("\(word):\(escaped(summary, ":"))"))"
  }

  private func group(_ word: String, _ commands: [Command]) -> String {
    let rows = commands.map {
      "        " + quoted("\($0.words[1]):\(escaped($0.summary, ":"))")
    }
    return """
        if [[ $command == \(word) ]]; then
          if ((CURRENT == 2)); then
            commands=(
      \(rows.joined(separator: "\n"))
            )
            _describe -t commands command commands
            return
          fi
          command="\(word) $words[2]"
          shift words
          ((CURRENT -= 1))
        fi
      """
  }

  private func row(_ command: Command) -> String {
    var specifications = command.allOptions.map(specification)
    if !command.operands.isEmpty {
      let action = Command.isPath(command.operands) ? "_files" : ""
      specifications.append("*:\(escaped(command.operands, ":")):\(action)")
    }
    let lines = specifications.map { "          \(quoted($0))" }
    return """
          \(quoted(command.name)))
            _arguments -S \\
      \(lines.joined(separator: " \\\n"))
            ;;
      """
  }

  private func specification(_ option: Command.Option) -> String {
    let help = escaped(option.help, "[]:")
    guard let value = option.value else { return "*\(option.name)[\(help)]" }
    let action = Command.isPath(value) ? "_files" : " "
    return "*\(option.name)=[\(help)]:\(escaped(value, ":")):\(action)"
  }

  /// `text` with a backslash before each of `marks` and before backslashes.
  private func escaped(_ text: String, _ marks: String) -> String {
    text.map { $0 == "\\" || marks.contains($0) ? "\\\($0)" : String($0) }.joined()
  }

  /// `text` as one word of the shell.
  private func quoted(_ text: String) -> String {
    "'" + text.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
  }
}
