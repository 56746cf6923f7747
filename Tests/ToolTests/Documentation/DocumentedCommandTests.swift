import Foundation
import HostedTestSupport
import Testing

@testable import HostedContentTool

/// The commands and options that sentences and tables of pages mention.
@Suite("Mentioned commands")
struct DocumentedCommandTests {
  private static let commands = CommandTable.commands
  /// The first words of commands, such as `store`.
  private static let groups = Set(commands.compactMap(\.words.first))

  /// Returns the command that `words` begin with.
  private static func command(_ words: [String]) -> Command? {
    for count in [2, 1] {
      let name = words.prefix(count).joined(separator: " ")
      if let command = commands.first(where: { $0.name == name }) { return command }
    }
    return nil
  }

  /// Returns the names of the options in `words`.
  private static func options(_ words: [String]) -> [String] {
    words.compactMap { word in
      guard word.hasPrefix("--"), word != "--" else { return nil }
      return String(word.prefix { $0 != "=" })
    }
  }

  /// Returns the options of all scripts of this repository.
  private static func scriptOptions() throws -> Set<String> {
    let folder = SourceTree.root.appending(path: "Scripts")
    let names = try FileManager.default.contentsOfDirectory(
      atPath: folder.path(percentEncoded: false))
    let texts = names.compactMap {
      try? String(contentsOf: folder.appending(path: $0), encoding: .utf8)
    }
    return Set(texts.flatMap { $0.matches(of: /--[a-z-]+/).map { String($0.output) } })
  }

  @Test("Every mentioned command exists, and has the mentioned options")
  func mentions() throws {
    let all = Set(Self.commands.flatMap { $0.allOptions.map(\.name) })
    let others = try Self.scriptOptions()
    var count = 0
    for page in try DocumentPage.all {
      for code in page.codeSpans {
        var words = code.split(whereSeparator: \.isWhitespace).map(String.init)
        let place: Comment = "\(page.path): \(code)"
        let isWhole = words.first == "hostedcontent"
        if isWhole { words.removeFirst() }
        guard let first = words.first else { continue }
        var known: Set<String>?
        if let command = Self.command(words) {
          known = Set(command.allOptions.map(\.name))
        } else if isWhole, words.count > 1 || !Self.groups.contains(first) {
          // A placeholder for any command.
          #expect(first == "COMMAND", place)
          known = all
        } else if first.hasPrefix("--") {
          known = all.union(others)
        } else if first == "store", words.count > 1 {
          Issue.record(place)
        }
        guard let known else { continue }
        for option in Self.options(words) { #expect(known.contains(option), place) }
        count += 1
      }
    }
    #expect(count > 80, "the mentions were not found")
  }
}
