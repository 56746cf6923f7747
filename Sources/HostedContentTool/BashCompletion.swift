/// The completion of bash 4 and newer, without the package bash-completion.
struct BashCompletion {
  let words: CompletionWords

  init(_ words: CompletionWords) { self.words = words }

  var script: String {
    """
    # bash completion for hostedcontent; made by: hostedcontent completion bash
    _hostedcontent() {
      local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
      local first=${COMP_WORDS[1]-} second=${COMP_WORDS[2]-} options='' paths='' values=''
      COMPREPLY=()
      if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '\(firstWords)' -- "$word"))
        return
      fi
    \(words.nested.map(secondWords).joined(separator: "\n"))
      case "$first $second" in
    \(words.commands.filter { $0.words.count > 1 }.map { row($0, pattern: "'\($0.name)'") }
      .joined(separator: "\n"))
        *)
          case $first in
    \(words.commands.filter { $0.words.count == 1 }.map { row($0, pattern: $0.name) }
      .joined(separator: "\n"))
          esac
          ;;
      esac
      # What follows an option that takes a path is completed as one, below, by readline itself.
      case " $paths " in *" $before "*) return ;; esac
      case " $values " in
        *" $before "*)
          compopt +o default
          return
          ;;
      esac
      case $word in -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;; esac
    }
    complete -o default -F _hostedcontent hostedcontent
    """
  }

  private var firstWords: String {
    (words.groups.map(\.word) + ["help", "--help", "--version"]).joined(separator: " ")
  }

  private func secondWords(_ word: String, _ commands: [Command]) -> String {
    """
      if [[ $first == \(word) ]] && ((COMP_CWORD == 2)); then
        COMPREPLY=($(compgen -W '\(commands.map { $0.words[1] }.joined(separator: " ")) --help' -- "$word"))
        return
      fi
    """
  }

  private func row(_ command: Command, pattern: String) -> String {
    let withValue = command.allOptions.filter { $0.value != nil }
    let isPath = { (option: Command.Option) in Command.isPath(option.value ?? "") }
    let list = { (options: [Command.Option]) in options.map(\.name).joined(separator: " ") }
    return """
          \(pattern))
            options='\(list(command.allOptions))'
            paths='\(list(withValue.filter(isPath)))'
            values='\(list(withValue.filter { !isPath($0) }))'
            ;;
      """
  }
}
