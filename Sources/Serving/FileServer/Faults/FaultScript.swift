import HostedFileIO
import HostedModel

/// Rules for faults; `Documentation/Server.md` describes the syntax.
package struct FaultScript: Sendable, Hashable {
  let rules: [FaultRule]

  package static let none = FaultScript(rules: [])

  private static let longestText: Int64 = 1 << 20

  private init(rules: [FaultRule]) { self.rules = rules }

  /// Parses a script.
  ///
  /// `name` is for error messages. Throws `usage` with the number of the invalid line.
  package init(_ text: String, name: String = "the fault script") throws {
    rules = try text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated().compactMap { index, line in
        do throws(ContentError) {
          var words = try FaultWords(line)
          return words.next == nil ? nil : try words.rule()
        } catch {
          throw ContentError(
            .usage, "Line \(index + 1) of \(name): \(error.message)", remedy: error.remedy,
            subject: name)
        }
      }
  }

  package static func read(_ path: String) throws -> FaultScript {
    let bytes = try FileSystem.real.file(at: path).contents(limit: longestText)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ContentError(
        .usage, "\(path) is not UTF-8", remedy: "Use a text file of rules", subject: path)
    }
    return try FaultScript(text, name: path)
  }
}

/// The words of one line, read from left to right.
private struct FaultWords {
  private var words: ArraySlice<String>
  /// The words, for messages and logs.
  let text: String

  /// Splits a line at spaces.
  ///
  /// Quotation marks keep words together; `#` before a word starts a comment.
  init(_ line: some StringProtocol) throws(ContentError) {
    var words: [String] = []
    var rest = Substring(line)
    while let start = rest.firstIndex(where: { !$0.isWhitespace }), rest[start] != "#" {
      rest = rest[start...]
      if rest.first == "\"" {
        rest.removeFirst()
        guard let end = rest.firstIndex(of: "\"") else {
          throw Self.mistake("A quotation mark is not closed", "Close it on the same line")
        }
        words.append(String(rest[..<end]))
        rest = rest[rest.index(after: end)...]
      } else {
        let end = rest.firstIndex(where: \.isWhitespace) ?? rest.endIndex
        words.append(String(rest[..<end]))
        rest = rest[end...]
      }
    }
    self.words = words[...]
    text = words.joined(separator: " ")
  }

  /// The next word; does not consume it.
  var next: String? { words.first }

  /// Whether the next word is a number that belongs to `N times`.
  var isAtCount: Bool { words.dropFirst().first == "times" }

  /// Consumes the next word if it is `word`.
  mutating func take(_ word: String) -> Bool {
    guard words.first == word else { return false }
    words.removeFirst()
    return true
  }

  /// Consumes the next word and converts it with `read`; `what` describes what is expected.
  mutating func take<Value>(_ what: String, _ read: (String) -> Value?) throws(ContentError)
    -> Value
  {
    guard let word = words.first else { throw Self.mistake("\(what) is missing", Self.remedy) }
    guard let value = read(word) else {
      throw Self.mistake("“\(word)” is not \(what)", Self.remedy)
    }
    words.removeFirst()
    return value
  }

  /// Consumes the next word if `read` accepts it and it does not belong to `N times`.
  mutating func takeOptional<Value>(_ read: (String) -> Value?) -> Value? {
    guard !isAtCount, let value = words.first.flatMap(read) else { return nil }
    words.removeFirst()
    return value
  }

  static let remedy = "Documentation/Server.md describes every fault"

  /// A syntax error in the line; the script adds its number.
  static func mistake(_ message: String, _ remedy: String) -> ContentError {
    ContentError(.usage, message, remedy: remedy)
  }
}

// MARK: The grammar

extension FaultWords {
  /// Parses the words as a rule.
  mutating func rule() throws(ContentError) -> FaultRule {
    let pattern = try take("a pattern of paths, which begins with / or *") {
      $0.hasPrefix("/") || $0.hasPrefix("*") ? Glob(text: $0) : nil
    }
    let filter = try filter()
    let fault = try fault()
    if fault.isOfConnection, pattern.text != "*" || filter != FaultRule.Filter() {
      throw Self.mistake(
        "A TLS fault acts before the request and cannot have a path or a filter",
        "Start the line with * tls")
    }
    let schedule = try schedule()
    guard let rest = next else {
      return FaultRule(
        text: text, pattern: pattern, filter: filter, fault: fault, schedule: schedule)
    }
    throw Self.mistake("Unexpected “\(rest)” after the end of the rule", Self.remedy)
  }

  private mutating func filter() throws(ContentError) -> FaultRule.Filter {
    var filter = FaultRule.Filter()
    while true {
      switch next {
      case "GET", "HEAD": filter.method = try take("a method") { $0 }
      case "range", "whole": filter.hasRange = try take("a filter") { $0 == "range" }
      default: return filter
      }
    }
  }

  /// `once`, `3 times` or `always`, optionally after `after N`.
  private mutating func schedule() throws(ContentError) -> FaultRule.Schedule {
    var schedule = FaultRule.Schedule()
    if take("after") { schedule.skipped = try count("a number of requests") }
    if take("once") {
      schedule.count = 1
    } else if isAtCount {
      schedule.count = try count("a number of times")
      _ = take("times")
    } else {
      _ = take("always")
    }
    return schedule
  }

  private mutating func count(_ what: String) throws(ContentError) -> Int {
    try take(what) { Quantities.whole($0).flatMap { $0 > 0 ? Int(exactly: $0) : nil } }
  }

  /// Parses the fault's name and arguments.
  private mutating func fault() throws(ContentError) -> Fault {
    guard let name = next else { throw Self.mistake("The fault is missing", Self.names) }
    guard let kind = FaultName(rawValue: name) else {
      throw Self.mistake("Unknown fault “\(name)”", Self.names)
    }
    _ = take(name)
    switch kind {
    case .tls: return .connection(try connectionFault())
    case .ignoreRange: return .resource(.ignoreRange)
    case .validators:
      return .resource(
        .validators(try take("changed, weak or none", ResourceFault.Validators.init(rawValue:))))
    case .body: return try take("changed") { $0 == "changed" ? .resource(.changeBody) : nil }
    case .partial: return .answer(.partial(try partial()))
    case .contentRange: return .answer(.contentRange(try contentRange()))
    case .unsatisfiable: return .answer(.unsatisfiable(bare: take("bare")))
    case .gzip: return .answer(.gzip)
    case .loginPage: return .answer(.loginPage)
    case .status: return .answer(try status())
    case .redirect: return .answer(try redirect())
    case .flip: return .answer(.flip(at: try bytes()))
    case .latency: return .transmission(.latency(try time()))
    case .rate: return .transmission(.rate(try take("a rate such as 1MB/s", Quantities.rate)))
    case .contentLength: return .transmission(.contentLength(try lengthPromise()))
    case .longer: return .transmission(.longer(try bytes()))
    case .endless: return .transmission(.endless)
    case .cut: return .transmission(.cut(try bytes()))
    case .reset: return .transmission(.reset(takeOptional { Quantities.bytes($0) }))
    case .close: return .transmission(.close)
    case .stall: return .transmission(.stall(try bytes(), takeOptional(Quantities.time)))
    case .drip: return .transmission(.drip(try someBytes(), try time()))
    case .slowHead: return .transmission(.slowHead(try someBytes(), try time()))
    case .hugeHead: return .transmission(.hugeHead(try bytes()))
    }
  }

  // MARK: Arguments of faults

  private mutating func connectionFault() throws(ContentError) -> ConnectionFault {
    if take("certificate") {
      let chain = try take("the file of a certificate") { $0 }
      return .certificate(Certificate(chain: chain, key: try take("the file of a key") { $0 }))
    }
    let kinds: [String: ConnectionFault] = ["close": .close, "refuse": .refuse, "stall": .stall]
    return try take("close, refuse, stall or certificate") { kinds[$0] }
  }

  private mutating func partial() throws(ContentError) -> AnswerFault.Partial {
    let make: (Int64) -> AnswerFault.Partial = try take("short, shifted or overlapping") {
      switch $0 {
      case "short": { .short($0) }
      case "shifted": { .shifted($0) }
      case "overlapping": { .overlapping($0) }
      default: nil
      }
    }
    return make(try bytes())
  }

  private mutating func contentRange() throws(ContentError) -> AnswerFault.ContentRange {
    if take("none") { return .none }
    if take("shifted") { return .shifted(try bytes()) }
    if take("total") { return .total(try bytes()) }
    return try take("none, shifted, total or the header's text in quotation marks") {
      $0.contains(" ") && $0.utf8.allSatisfy(Self.isPrintable) ? .text($0) : nil
    }
  }

  private mutating func status() throws(ContentError) -> AnswerFault {
    let status = try take("a status from 400 to 599", Self.number(400...599))
    if take("retry-after") { return .status(Int(status), .seconds(try seconds())) }
    if take("retry-after-date") { return .status(Int(status), .date(try seconds())) }
    return .status(Int(status), nil)
  }

  private mutating func seconds() throws(ContentError) -> Int64 {
    try take("a number of seconds", Self.number(0...86_400))
  }

  private mutating func redirect() throws(ContentError) -> AnswerFault {
    let location = try take("loop or a URL") {
      $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } ? ($0 == "loop" ? "{path}" : $0) : nil
    }
    return .redirect(location, status: takeOptional(Self.number(300...399)).map { Int($0) } ?? 302)
  }

  private mutating func lengthPromise() throws(ContentError) -> LengthPromise {
    try take("none, a length, or a difference such as +10") { word in
      if word == "none" { return LengthPromise.none }
      let bytes = Quantities.bytes(word.drop { $0 == "+" || $0 == "-" })
      switch word.first {
      case "+": return bytes.map { .off(by: $0) }
      case "-": return bytes.map { .off(by: -$0) }
      default: return bytes.map { .exactly($0) }
      }
    }
  }

  private mutating func bytes() throws(ContentError) -> Int64 {
    try take("a number of bytes") { Quantities.bytes($0) }
  }

  private mutating func someBytes() throws(ContentError) -> Int64 {
    try take("a number of bytes above 0") { Quantities.bytes($0).flatMap { $0 > 0 ? $0 : nil } }
  }

  private mutating func time() throws(ContentError) -> Duration {
    try take("a time such as 20ms", Quantities.time)
  }

  private static func number(_ allowed: ClosedRange<Int64>) -> (String) -> Int64? {
    { text in Quantities.whole(text).flatMap { allowed.contains($0) ? $0 : nil } }
  }

  private static func isPrintable(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7f }

  private static var names: String {
    "The faults are \(FaultName.allCases.map(\.rawValue).joined(separator: ", "))"
  }
}

enum FaultName: String, CaseIterable {
  case close, reset, cut, stall, drip, latency, rate, flip, gzip, status, redirect, longer, endless
  case partial, unsatisfiable, validators, body, tls
  case ignoreRange = "ignore-range"
  case contentRange = "content-range"
  case contentLength = "content-length"
  case loginPage = "login-page"
  case slowHead = "slow-head"
  case hugeHead = "huge-head"
}
