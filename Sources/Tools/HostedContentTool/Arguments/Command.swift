import HostedModel

struct Command: Sendable {
  /// The name of the command, such as `store publish`.
  let name: String
  let summary: String
  /// The operands, as shown in the help.
  ///
  /// Optional ones are in brackets, and `…` follows the last one if it may be repeated.
  var operands = ""
  let options: [Option]
  /// One or more complete command lines.
  let example: String
  let run: @Sendable (Arguments, Console) async throws -> ExitStatus

  /// A long option; an option without a value is a flag.
  struct Option: Sendable {
    let name: String
    let value: String?
    let help: String
    let isRequired: Bool

    init(_ name: String, _ value: String? = nil, _ help: String, isRequired: Bool = false) {
      self.name = name
      self.value = value
      self.help = help
      self.isRequired = isRequired
    }

    var markedHelp: String { isRequired ? "\(help) (required)" : help }

    /// The name with its value, as shown in the help.
    var heading: String { value.map { "\(name) \($0)" } ?? name }

    static let json = Option("--json", nil, "print one JSON document")
    static let quiet = Option(
      "--quiet", nil, "print only results and errors, no progress or messages")
    static let help = Option("--help", nil, "show this help; -h is the same")
    static let version = Option("--version", nil, "show the version of hostedcontent")
    static let store = Option(
      "--store", "STORE", "the store: a folder, or a file://, http:// or https:// URL",
      isRequired: true)
    static let library = Option("--library", "FOLDER", "the library's folder", isRequired: true)
    static let account = Option(
      "--account", "NAME", "the buyer's account; default: the library's own")
    static let grants = Option(
      "--ledger", "FILE", "the ledger of purchases; default: ledger.sqlite in the library")
    static let limitRate = Option(
      "--limit-rate", "BYTES", "the maximum number of bytes per second, such as 500k or 20M")
    static let requireUpdate = Option(
      "--require-update", nil, "exit with 3 if there is nothing to update")
    static let root = Option(
      "--root", "FILE",
      "the store's trusted root; default: the library's, or a local store's own")
  }

  var repeatsOperand: Bool { operands.contains("…") }

  var operandCount: ClosedRange<Int> {
    let required = operands.prefix { $0 != "[" }.split(separator: " ").count
    return required...(repeatsOperand ? Int.max : operands.split(separator: " ").count)
  }

  var allOptions: [Option] { options + [.quiet, .help, .version] }

  var help: String {
    let width = allOptions.map(\.heading.count).max() ?? 0
    let lines = allOptions.map { "  \($0.heading.padded(to: width))  \($0.markedHelp)" }
    return """
      Usage: hostedcontent \(usage)

      \(summary)

      Options:
      \(lines.joined(separator: "\n"))

      Example:
        \(example.split(separator: "\n").joined(separator: "\n  "))
      """
  }

  var usage: String {
    ([name, operands] + options.filter(\.isRequired).map(\.heading) + ["[options]"])
      .filter { !$0.isEmpty }.joined(separator: " ")
  }
}

/// The words after a command, sorted into options and operands.
struct Arguments: Sendable {
  let command: Command
  private(set) var operands: [String] = []
  private var values: [String: [String]] = [:]

  /// Parses `words`; throws `usage` for an unknown option, a missing value, or a wrong count.
  init(_ words: [String], for command: Command) throws {
    self.command = command
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
        throw wrong(
          "Unknown option \(parts[0])",
          suggestion: Suggestion.question(parts[0], among: command.allOptions.map(\.name)))
      }
      if option.value == nil {
        guard parts.count == 1 else { throw wrong("\(option.name) does not take a value") }
        values[option.name, default: []].append("")
      } else if parts.count == 2 {
        values[option.name, default: []].append(parts[1])
      } else if let value = rest.first, value == "--" || !value.hasPrefix("--") {
        values[option.name, default: []].append(rest.removeFirst())
      } else {
        // Another option can only be a value in the form --option=value.
        let next = rest.first.map { ", found \($0)" } ?? ""
        throw wrong("\(option.name) needs a value\(next)")
      }
    }
    guard !has("--help"), !has("--version") else { return }
    let count = operands.count
    if !command.operandCount.contains(count) {
      let takes = command.operands.isEmpty ? "no operands" : command.operands
      let given = count == 0 ? "none was" : count == 1 ? "1 was" : "\(count) were"
      throw wrong("\(command.name) takes \(takes), but \(given) given")
    }
    if let missing = command.options.first(where: { $0.isRequired && !has($0.name) }) {
      throw wrong("\(missing.name) is missing")
    }
  }

  func has(_ option: String) -> Bool { values[option] != nil }

  /// The value of `option`; the last one wins.
  func value(_ option: String) -> String? { values[option]?.last }

  func values(_ option: String) -> [String] { values[option] ?? [] }

  /// The value of `option`, which is required and must not be empty.
  func required(_ option: String) throws -> String {
    guard let value = try text(option) else { throw wrong("\(option) is missing") }
    return value
  }

  /// The value of `option`; throws if it is empty, which is usually an unset variable.
  func text(_ option: String) throws -> String? {
    guard let value = value(option) else { return nil }
    guard !value.isEmpty else { throw wrong("\(option) is empty") }
    return value
  }

  /// The value of `option` as a number from `minimum` to `maximum`.
  func number(_ option: String, minimum: Int, maximum: Int = .max) throws -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = Int(text), number >= minimum else {
      throw wrong("\(option) takes a number of at least \(minimum), not “\(text)”")
    }
    guard number <= maximum else {
      throw wrong("\(option) takes a number of at most \(maximum), not “\(text)”")
    }
    return number
  }

  /// The value of `option`, as `read` returns it; throws `usage` if that is nil, because the option
  /// takes `what`.
  func value<Value>(_ option: String, _ what: String, _ read: (String) -> Value?) throws -> Value? {
    guard let text = try text(option) else { return nil }
    guard let value = read(text) else { throw wrong("\(option) takes \(what), not “\(text)”") }
    return value
  }

  /// The value of `option` as a case of `Choice`; nil without the option.
  func choice<Choice: CaseIterable & RawRepresentable>(_ option: String) throws -> Choice?
  where Choice.RawValue == String {
    guard let text = try text(option) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw wrong("\(option) takes \(names)")
    }
    return choice
  }

  /// `text` as a product or content identifier; throws `usage` if it is invalid.
  func identifier(_ text: String) throws -> ProductIdentifier {
    try Self.asUsage { try ProductIdentifier(validating: text) }
  }

  /// The value of `option` as a product or content identifier; nil without the option.
  func identifier(of option: String) throws -> ProductIdentifier? {
    try text(option).map { try identifier($0) }
  }

  /// `text` as a version; throws `usage` if it is invalid.
  func version(_ text: String) throws -> ContentVersion {
    try Self.asUsage { try ContentVersion(validating: text) }
  }

  private static func asUsage<Value>(_ read: () throws -> Value) throws -> Value {
    do {
      return try read()
    } catch let error as ContentError {
      throw error.with(code: .usage)
    }
  }

  /// The error for invalid arguments of the command; `suggestion` begins the remedy.
  func wrong(_ message: String, suggestion: String = "") -> ContentError {
    Self.wrong(message, command.name, suggestion: suggestion)
  }

  /// The error for invalid arguments of `command`; an empty name is the program itself.
  static func wrong(_ message: String, _ command: String, suggestion: String = "") -> ContentError {
    let name = command.isEmpty ? "" : " \(command)"
    return ContentError(
      .usage, message, remedy: "\(suggestion)See hostedcontent\(name) --help", subject: nil)
  }
}
