import Foundation
import TestSupport
import Testing

/// Code in README and articles must compile without changes.
@Suite("Code in the documentation compiles")
struct CodeBlockTests {
  /// README, Documentation and the articles of every module.
  private static var pages: [URL] {
    get throws {
      let manager = FileManager.default
      var pages = [SourceTree.root.appending(path: "README.md")]
      for folder in ["Documentation", "Sources"] {
        let start = SourceTree.root.appending(path: folder)
        for path in try manager.subpathsOfDirectory(atPath: start.path) where path.hasSuffix(".md")
        {
          pages.append(start.appending(path: path))
        }
      }
      return pages
    }
  }

  /// Lines without indentation; empty ones do not count.
  private static func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }

  /// The Swift blocks of a page.
  private static func blocks(_ page: String) -> [[String]] {
    page.components(separatedBy: "```swift\n").dropFirst().map { rest in
      lines(rest.components(separatedBy: "\n```")[0])
    }
  }

  @Test("Every block of Swift is in a file that is compiled with the tests, word for word")
  func compiled() throws {
    let folder = SourceTree.root.appending(path: "Tests/DocumentationTests")
    let snippets = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix("Snippets.swift") }.map { folder.appending(path: $0) }
    let example = SourceTree.root.appending(path: "Examples/Members/Members.swift")
    let sources = try (snippets + [example]).map {
      Self.lines(try String(contentsOf: $0, encoding: .utf8))
    }
    var count = 0
    for page in try Self.pages {
      for block in Self.blocks(try String(contentsOf: page, encoding: .utf8)) {
        let isCompiled = sources.contains { $0.firstRange(of: block) != nil }
        #expect(isCompiled, "\(page.lastPathComponent): \(block.first ?? "an empty block")")
        count += 1
      }
    }
    #expect(count >= 15, "the pages were not found")
  }

  @Test("The article on errors has every number with its name")
  func errors() throws {
    let source = try String(
      contentsOf: SourceTree.root.appending(path: "Sources/Engine/ContentModel/ContentError.swift"),
      encoding: .utf8)
    let article = try String(
      contentsOf: SourceTree.root.appending(
        path: "Sources/Engine/HostedContent/HostedContent.docc/ErrorsAndRemedies.md"),
      encoding: .utf8)
    let codes = source.matches(of: /public static let (\w+) = Self\(rawValue: (\d+)\)/)
    #expect(codes.count > 70)
    for code in codes {
      #expect(article.contains("| \(code.output.2) | `\(code.output.1)` |"))
    }
  }

  @Test("Every command in an article exists in the tool")
  func commands() throws {
    let tool = SourceTree.root.appending(path: "Sources/Tools/HostedContentTool")
    let files = try FileManager.default.subpathsOfDirectory(atPath: tool.path)
      .filter { $0.hasSuffix(".swift") }
    #expect(files.contains { $0.hasSuffix("CommandTable.swift") })
    let sources = try files.map {
      try String(contentsOf: tool.appending(path: $0), encoding: .utf8)
    }.joined()
    let names = Set(sources.matches(of: /name: "([a-z -]+)"/).map { String($0.output.1) })
    for page in try Self.pages {
      let text = try String(contentsOf: page, encoding: .utf8)
      for match in text.matches(of: /(?m)^hostedcontent ([a-z-]+) ?([a-z-]*)/) {
        let words = "\(match.output.1) \(match.output.2)"
        let isKnown = names.contains(words) || names.contains(String(match.output.1))
        #expect(isKnown, "\(page.lastPathComponent): \(words)")
      }
    }
  }

  @Test("Every option of a command in a page exists in the tool")
  func options() throws {
    let tool = SourceTree.root.appending(path: "Sources/Tools/HostedContentTool")
    let sources = try FileManager.default.subpathsOfDirectory(atPath: tool.path)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: tool.appending(path: $0), encoding: .utf8) }.joined()
    for page in try Self.pages {
      let text = try String(contentsOf: page, encoding: .utf8)
      for command in text.matches(of: /(?m)^hostedcontent (?:[^\n\\]|\\\n)*/) {
        for option in command.output.matches(of: /(?: |^)(--[a-z-]+)/) {
          let name = String(option.output.1)
          #expect(sources.contains("\"\(name)\""), "\(page.lastPathComponent): \(name)")
        }
      }
    }
  }
}
