import ContentStore

enum CompletionCommand {
  static let command = Command(
    name: "completion",
    summary: "Prints a completion script for bash or zsh.",
    operands: "bash|zsh", options: [],
    example:
      "hostedcontent completion bash > ~/.local/share/bash-completion/completions/hostedcontent"
  ) { arguments, console in
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
  fileprivate static var nestedGroups: [(word: String, commands: [Command])] {
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

/// The completion for bash 4 and newer; it does not need the package bash-completion.
private enum BashCompletion {
  static var script: String {
    """
    # bash completion for hostedcontent; made by: hostedcontent completion bash
    _hostedcontent() {
      local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-}
      local options='' files='' folders='' values='' start=2 repeats=0 operands=()
      COMPREPLY=()
      # bash takes --option=value for three words.
      [[ $word == '=' ]] && word=''
      if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '\(firstWords)' -- "$word"))
        return
      fi
    \(CommandTable.nestedGroups.map(secondWords).joined(separator: "\n"))
      case $command in
    \(CommandTable.commands.map(row).joined(separator: "\n"))
      esac
    \(position)
    \(offers)
    }
    complete -o default -F _hostedcontent hostedcontent
    """
  }

  /// Finds the option (`ahead`) whose value is under the cursor, the operand's number, the library.
  private static let position = """
      local ahead='' index=0 before='' library='' current i
      for ((i = start; i < ${#COMP_WORDS[@]}; i++)); do
        current=${COMP_WORDS[i]}
        [[ $current == '=' ]] && continue
        if [[ -n $ahead ]]; then
          ((i == COMP_CWORD)) && break
          [[ $ahead == --library ]] && library=$current
          ahead=''
        elif ((i == COMP_CWORD)); then
          break
        elif [[ $current == -* ]]; then
          case " $files $folders $values " in *" $current "*) ahead=$current ;; esac
        else
          before=$current
          ((index += 1))
        fi
      done
      for ((i = COMP_CWORD + 1; i < ${#COMP_WORDS[@]} - 1; i++)); do
        [[ ${COMP_WORDS[i]} == --library ]] && library=${COMP_WORDS[i + 1]}
      done
      library=${library/#\\~/$HOME}
    """

  private static let offers = """
      local kind=nothing
      if [[ -n $ahead ]]; then
        case " $files " in *" $ahead "*) kind=file ;; esac
        case " $folders " in *" $ahead "*) kind=folder ;; esac
      elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        return
      elif ((index < ${#operands[@]})); then
        kind=${operands[index]}
      elif ((repeats)); then
        kind=${operands[${#operands[@]} - 1]}
      fi
      # readline completes file names.
      [[ $kind == file ]] && return
      compopt +o default
      case $kind in
        folder)
          compopt -o filenames
          mapfile -t COMPREPLY < <(compgen -d -- "$word")
          ;;
        package)
          compopt -o filenames
          mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X '!*.pkg' -- "$word")
          ;;
        installed)
          COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" list --library "$library" 2>/dev/null |
            awk 'NR > 1 { print $1 }' | sort -u)" -- "$word"))
          ;;
        version)
          COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" list --library "$library" 2>/dev/null |
            awk -v id="$before" 'NR > 1 && $1 == id { print $2 }')" -- "$word"))
          ;;
        words:*) COMPREPLY=($(compgen -W "${kind#words:}" -- "$word")) ;;
      esac
    """

  private static var firstWords: String {
    (CommandTable.groups.map(\.word) + ["help", "--help", "--version"]).joined(separator: " ")
  }

  private static func secondWords(_ word: String, _ commands: [Command]) -> String {
    """
      if [[ $command == \(word) ]]; then
        start=3
        if ((COMP_CWORD == 2)); then
          COMPREPLY=($(compgen -W '\(commands.map { $0.words[1] }.joined(separator: " ")) --help' -- "$word"))
          return
        fi
        command+=" ${COMP_WORDS[2]}"
      fi
    """
  }

  private static func row(_ command: Command) -> String {
    var (files, folders, values): ([String], [String], [String]) = ([], [], [])
    for option in command.allOptions {
      guard let value = option.value else { continue }
      switch Completion(value: value) {
      case .file: files.append(option.name)
      case .folder: folders.append(option.name)
      default: values.append(option.name)
      }
    }
    return """
          '\(command.name)')
            options='\(command.allOptions.map(\.name).joined(separator: " "))'
            files='\(files.joined(separator: " "))'
            folders='\(folders.joined(separator: " "))'
            values='\(values.joined(separator: " "))'
            operands=(\(command.completions.map(word).joined(separator: " ")))
            repeats=\(command.repeatsOperand ? 1 : 0)
            ;;
      """
  }

  private static func word(_ completion: Completion) -> String {
    switch completion {
    case .file: "file"
    case .folder: "folder"
    case .package: "package"
    case .installed: "installed"
    case .installedVersion: "version"
    case .words(let words): "'words:\(words.joined(separator: " "))'"
    case .nothing: "nothing"
    }
  }
}

/// The completion for zsh, as a function file named `_hostedcontent` in `fpath`.
private enum ZshCompletion {
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
    return "*\(option.name)=[\(help)]:\(escaped(value, ":")):\(action(Completion(value: value)))"
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
