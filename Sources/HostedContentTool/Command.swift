import ContentModel

/// One command of the tool: its words, its options, and what it does.
struct Command: Sendable {
  /// The words that call it, such as `store publish`.
  let name: String
  /// What it does, in one line.
  let summary: String
  /// What it takes besides options, as help shows it.
  let operands: String
  /// How many operands it takes.
  let operandCount: ClosedRange<Int>
  let options: [Option]
  /// One or more lines that can be typed.
  let example: String
  let run: @Sendable (Arguments, Console) async throws -> ExitStatus

  /// A long option; one without a value is a flag.
  struct Option: Sendable {
    let name: String
    let value: String?
    let help: String

    init(_ name: String, _ value: String? = nil, _ help: String) {
      self.name = name
      self.value = value
      self.help = help
    }

    static let json = Option("--json", "print one JSON document")
    static let quiet = Option("--quiet", "no progress and no messages but errors")
    static let help = Option("--help", "show this help; -h is the same")
    static let version = Option("--version", "show the version of hostedcontent")
    static let store = Option(
      "--store", "STORE", "the store: a folder, or a file://, http:// or https:// URL")
    static let library = Option("--library", "FOLDER", "the library's folder")
    static let limitRate = Option(
      "--limit-rate", "BYTES", "the maximum number of bytes per second, such as 500k or 20M")
    static let root = Option(
      "--root", "FILE",
      "the store's trusted root; default: the library's, or a local store's own")

    private init(_ name: String, _ help: String) { self.init(name, nil, help) }
  }

  /// Every option that it takes; quiet, help and version belong to all.
  var allOptions: [Option] { options + [.quiet, .help, .version] }

  /// The text of `--help`.
  var help: String {
    let width = allOptions.map { Self.heading($0).count }.max() ?? 0
    let lines = allOptions.map { option in
      let heading = Self.heading(option)
      return "  \(heading)\(String(repeating: " ", count: width - heading.count))  \(option.help)"
    }
    return """
      Usage: hostedcontent \(name) \(operands.isEmpty ? "" : operands + " ")[options]

      \(summary)

      Options:
      \(lines.joined(separator: "\n"))

      Example:
        \(example.split(separator: "\n").joined(separator: "\n  "))
      """
  }

  private static func heading(_ option: Option) -> String {
    option.value.map { "\(option.name) \($0)" } ?? option.name
  }
}

/// The words behind a command, sorted into options and operands.
struct Arguments: Sendable {
  let operands: [String]
  private let values: [String: [String]]
  private let command: String

  /// Sorts `words`; throws `usage` for an unknown option, a missing value, or a wrong count.
  init(_ words: [String], for command: Command) throws {
    var operands: [String] = []
    var values: [String: [String]] = [:]
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        break
      }
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      let spelled = word == "-h" ? Command.Option.help.name : word
      let parts = spelled.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(String.init)
      guard let option = command.allOptions.first(where: { $0.name == parts[0] }) else {
        throw Self.wrong("Unknown option \(parts[0])", command.name)
      }
      if option.value == nil {
        guard parts.count == 1 else {
          throw Self.wrong("\(option.name) takes no value", command.name)
        }
        values[option.name, default: []].append("")
      } else if let value = parts.count == 2 ? parts[1] : rest.popFirst() {
        values[option.name, default: []].append(value)
      } else {
        throw Self.wrong("\(option.name) needs a value", command.name)
      }
    }
    self.operands = operands
    self.values = values
    self.command = command.name
    guard !has("--help"), !has("--version") else { return }
    let count = operands.count
    if !command.operandCount.contains(count) {
      let takes = command.operands.isEmpty ? "no operands" : command.operands
      let given = count == 0 ? "none was" : count == 1 ? "1 was" : "\(count) were"
      throw Self.wrong("\(command.name) takes \(takes), but \(given) given", command.name)
    }
  }

  func has(_ option: String) -> Bool { values[option] != nil }

  /// The value of `option`; the last one wins.
  func value(_ option: String) -> String? { values[option]?.last }

  /// All values of `option`, in their order.
  func values(_ option: String) -> [String] { values[option] ?? [] }

  /// The value of `option`, which must be given and not be empty.
  func required(_ option: String) throws -> String {
    guard let value = try text(option) else { throw Self.wrong("\(option) is missing", command) }
    return value
  }

  /// The value of `option`, which must not be empty: an empty one is mostly an unset variable.
  func text(_ option: String) throws -> String? {
    guard let value = value(option) else { return nil }
    guard !value.isEmpty else { throw Self.wrong("\(option) is empty", command) }
    return value
  }

  /// The value of `option` as a number of at least `least`.
  func number(_ option: String, least: Int) throws -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = Int(text), number >= least else {
      throw Self.wrong("\(option) takes a number of at least \(least), not “\(text)”", command)
    }
    return number
  }

  /// The error for a value that `option` does not take; `why` goes on after its name.
  func wrongValue(_ option: String, _ why: String) -> ContentError {
    Self.wrong("\(option) \(why)", command)
  }

  static func wrong(_ message: String, _ command: String) -> ContentError {
    ContentError(
      .usage, message, remedy: "See hostedcontent \(command) --help".replacingSpaces(), subject: nil
    )
  }
}

extension String {
  /// One space where an empty command name leaves two.
  fileprivate func replacingSpaces() -> String {
    split(separator: " ").joined(separator: " ")
  }
}
