import HostedModel
import HostedFileIO

/// Rules for faults; `Documentation/Server.md` describes the syntax.
package struct FaultScript: Sendable, Hashable {
  let rules: [FaultRule]

  /// A script without rules.
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

  /// The first rule about connections; only a server with a certificate can apply it.
  var firstConnectionRule: FaultRule? { rules.first { $0.fault.isOfConnection } }
}

/// The words of one line, read from left to right.
struct FaultWords {
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
