import FoundationEssentials

/// The completion for zsh, as a function file named `_hostedcontent` in `fpath`.
enum ZshCompletion {
  static var script: String {
    """
    #compdef hostedcontent
    # zsh completion for hostedcontent; made by: hostedcontent completion zsh
    _hostedcontent_list() {
      local -a lines
      lines=(${(f)"$(hostedcontent list --library "${(Q)opt_args[--library]}" 2>/dev/null)"})
      print -rl -- ${lines[2,-1]}
    }
    _hostedcontent_installed() {
      compadd -- $(_hostedcontent_list | awk '{ print $1 }' | sort -u)
    }
    _hostedcontent_versions() {
      compadd -- $(_hostedcontent_list | awk -v id="$line[1]" '$1 == id { print $2 }')
    }
    _hostedcontent() {
      local -a commands line
      local -A opt_args
      if ((CURRENT == 2)); then
        commands=(
    \(CommandTable.groups.map { described($0.word, $0.commands) }.joined(separator: "\n"))
        )
        _describe -t commands command commands
        return
      fi
      local command=$words[2]
      shift words
      ((CURRENT -= 1))
    \(CommandTable.nestedGroups.map(group).joined(separator: "\n"))
      case $command in
    \(CommandTable.commands.map(row).joined(separator: "\n"))
      esac
    }
    _hostedcontent "$@"
    """
  }

  private static func described(_ word: String, _ commands: [Command]) -> String {
    let summary =
      commands[0].words.count > 1
      ? commands.map { $0.words[1] }.joined(separator: ", ") : commands[0].summary
    return "      \(quoted("\(word):\(escaped(summary, ":"))"))"
  }

  private static func group(_ word: String, _ commands: [Command]) -> String {
    let rows = commands.map { "        " + quoted("\($0.words[1]):\(escaped($0.summary, ":"))") }
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

  private static func row(_ command: Command) -> String {
    var specifications = command.allOptions.map(specification)
    let names = command.operands.split(separator: " ").map(String.init)
    for (index, completion) in command.completions.enumerated() {
      let isLast = index == names.count - 1
      let place = isLast && command.repeatsOperand ? "*" : "\(index + 1)"
      specifications.append("\(place):\(escaped(names[index], ":")):\(action(completion))")
    }
    let lines = specifications.map { "          \(quoted($0))" }
    return """
          \(quoted(command.name)))
            _arguments -S \\
      \(lines.joined(separator: " \\\n"))
            ;;
      """
  }

  private static func specification(_ option: Command.Option) -> String {
    let help = escaped(option.markedHelp, "[]:")
    guard let value = option.value else { return "*\(option.name)[\(help)]" }
    return
      "*\(option.name)=[\(help)]:\(escaped(value, ":")):\(action(Completion(value: value)))"
  }

  private static func action(_ completion: Completion) -> String {
    switch completion {
    case .file: "_files"
    case .folder: "_files -/"
    case .package: "_files -g \"*.pkg\""
    case .installed: "_hostedcontent_installed"
    case .installedVersion: "_hostedcontent_versions"
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .nothing: " "
    }
  }

  /// Escapes backslashes and `marks` with a backslash.
  private static func escaped(_ text: String, _ marks: String) -> String {
    text.map { $0 == "\\" || marks.contains($0) ? "\\\($0)" : String($0) }.joined()
  }

  /// Quotes `text` as one word of the shell.
  private static func quoted(_ text: String) -> String {
    "'" + text.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
  }
}
