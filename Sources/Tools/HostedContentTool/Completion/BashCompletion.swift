/// The completion for bash 4 and newer; it does not need the package bash-completion.
enum BashCompletion {
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
