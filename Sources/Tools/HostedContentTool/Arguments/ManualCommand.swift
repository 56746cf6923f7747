/// `manual`: prints the man page for `Scripts/install`.
///
/// Not listed, because users read it with `man`.
enum ManualCommand {
  static let command = Command(
    name: "manual", summary: "Prints the man page in the form of man(7).",
    options: [], example: "hostedcontent manual > hostedcontent.1"
  ) { _, console in
    console.print(document: text)
    return .done
  }

  /// The man page, generated from the same table as the help.
  private static var text: String {
    """
    .TH HOSTEDCONTENT 1 "" "hostedcontent \(CommandTable.version)" "User Commands"
    .SH NAME
    hostedcontent \\- publishes, downloads and installs hosted content packages
    .SH SYNOPSIS
    .B hostedcontent
    .I COMMAND
    .RI [ operands ]
    .RI [ options ]
    .SH DESCRIPTION
    A store is a folder of signed files that any web server can serve; a library is a folder \
    into which
    content packages are installed, version beside version. Results go to standard output, messages
    and progress to standard error. Run an interrupted command again to continue where it stopped.
    .SH COMMANDS
    \(CommandTable.commands.map(section).joined(separator: "\n"))
    .SH "EXIT STATUS"
    \(ExitStatus.allCases.map { ".TP\n.B \($0.rawValue)\n\(escaped($0.meaning))" }
      .joined(separator: "\n"))
    .SH ENVIRONMENT
    .TP
    .B TERM
    a terminal that is
    .I dumb
    gets lines in place of progress bars
    .TP
    .BR http_proxy ", " https_proxy ", " all_proxy ", " no_proxy
    how web servers are reached, unless
    .B \\-\\-proxy
    says otherwise
    .SH EXAMPLES
    .nf
    \(CommandTable.commands.map { escaped($0.example) }.joined(separator: "\n"))
    .fi
    """
  }

  private static func section(_ command: Command) -> String {
    let operands = command.operands.isEmpty ? "" : "\n.I \(escaped(command.operands))"
    let options = command.options.map { option in
      let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
      return """
        .TP
        \\fB\(escaped(option.name))\\fR\(value)
        \(escaped(option.markedHelp))
        """
    }
    return
      ([".SS \(escaped(command.name))", "\(escaped(command.summary))"]
      + [".PP\n.B hostedcontent \(escaped(command.name))\(operands)"] + options)
      .joined(separator: "\n")
  }

  private static func escaped(_ text: String) -> String {
    let plain = text.map { $0 == "\\" ? "\\e" : $0 == "-" ? "\\-" : String($0) }.joined()
    return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&\(plain)" : plain
  }
}
