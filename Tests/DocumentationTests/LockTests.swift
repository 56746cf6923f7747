import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The rules of Documentation/Locks.md.
@Suite("The rules of locks")
struct LockTests {
  /// Returns the texts of the files in Sources, by their relative paths.
  private static func sources() throws -> [(path: String, text: String)] {
    let sources = SourceTree.root.appending(path: "Sources")
    return try FileManager.default.subpathsOfDirectory(atPath: sources.path)
      .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("Concurrency/Mutex.swift") }.sorted()
      .map { ($0, try String(contentsOf: sources.appending(path: $0), encoding: .utf8)) }
  }

  /// The code within the braces after `withLock` of a mutex that the file declares.
  private static func blocks(_ text: String) -> [(mutex: String, code: Substring)] {
    let declared = text.matches(of: /(?:let|var) (\w+)\s*(?::[^=\n]*\bMutex<|=\s*Mutex[(<])/)
    let names = Set(declared.map { String($0.output.1) })
    return text.matches(of: /\b(\w+)\??\.withLock \{/).compactMap { call in
      guard names.contains(String(call.output.1)) else { return nil }
      var depth = 1
      let code = text[call.range.upperBound...].prefix { character in
        depth += character == "{" ? 1 : character == "}" ? -1 : 0
        return depth > 0
      }
      return (String(call.output.1), code)
    }
  }

  /// What calls the system, waits or takes another lock.
  private static var forbidden: Regex<Substring> {
    /\bawait\b|\.wait\((?:\)|timeout)|\.join\(\)|\.sync\b|\bwithLock\b|\b(?:f?sync\w*|f?datasync|open(?:at)?|rename(?:at2?)?|unlink(?:at)?|mkdir(?:at)?|fstat(?:at)?|p?read|p?write|send|recv|poll|usleep|sleep|getaddrinfo)\(/
  }

  @Test("While a Mutex is held, nothing waits, calls the system or takes another lock", .slow)
  func short() throws {
    var count = 0
    for (path, text) in try Self.sources() where text.contains(/\bMutex[(<]/) {
      for (mutex, code) in Self.blocks(text) {
        let found = code.matches(of: Self.forbidden).map { String($0.output) }
        #expect(found == [], "\(path): \(mutex)")
        count += 1
      }
    }
    #expect(count > 200, "the locks were not found")
  }

  @Test("A planted call in a lock is found")
  func planted() {
    let text = "private let state = Mutex(State())\nstate.withLock { if $0.isOpen { fsync(3) } }"
    let found = Self.blocks(text).flatMap { $0.code.matches(of: Self.forbidden) }
    #expect(found.map { String($0.output) } == ["fsync("])
  }

  @Test("The types of the page exist", .slow)
  func types() throws {
    let page = try DocumentPage("Documentation/Locks.md")
    let code = try Self.sources().map(\.text).joined(separator: "\n")
    let own = ["Mutex"]
    let names = Set(
      page.codeSpans.compactMap { $0.wholeMatch(of: /[A-Z]\w+/).map { String($0.output) } })
    for name in names.subtracting(own) where name != "LockTests" {
      let pattern = try Regex("\\b(struct|class|enum|actor|protocol|typealias) \(name)\\b")
      #expect(code.contains(pattern), "\(name)")
    }
    #expect(names.count > 10)
  }
}
