import Foundation
import HostedTestSupport
import Testing

/// Blocks in README, guides and articles are executed from their own text.
@Suite("Blocks of the documentation")
struct CodeBlockTests {
  /// The blocks of other languages than `swift`, `sh` and `text`, each with its test.
  private static let others = [
    "Documentation/AddToYourPackage.md: swift manifest",  // DependencyTests
    "Documentation/AddToYourPackage.md: swift manifest",  // DependencyTests
    "Documentation/AppUpdate.md: json",  // AppUpdateCommandTests
    "Documentation/Refresh.md: cron",  // RefreshGuideTests
    "Documentation/Refresh.md: ini service",  // RefreshGuideTests
    "Documentation/Refresh.md: ini timer",  // RefreshGuideTests
    "Documentation/Server.md: faults",  // ServerGuideTests
    "Documentation/StoreServer.md: nginx auth_request",  // StoreServerGuideTests
    "Documentation/StoreServer.md: nginx secure_link",  // StoreServerGuideTests
    "Documentation/StoreServerData.md: ini service",  // StoreServerGuideTests
    "Documentation/StoreServerData.md: ini socket",  // StoreServerGuideTests
    "Sources/Publishing/ContentStore/ContentStore.docc/Hosting.md: nginx",  // HostingTests
  ]

  @Test("Every block has a language with a test, and only pictures and output are text")
  func languages() throws {
    var found: [String] = []
    for page in try DocumentPage.all {
      for block in page.blocks {
        switch block.language {
        // `compiled` below, and ReadmeTests.
        case "swift", "sh": break
        case "text":
          let hasCommand = block.text.contains(/(?m)^ *(?:\$|hostedcontent|swift|Scripts\/)/)
          #expect(!hasCommand, "\(page.path) line \(block.line) is a command: use sh")
        default: found.append("\(page.path): \(block.language)")
        }
      }
    }
    #expect(found.sorted() == Self.others.sorted())
  }

  /// Lines without indentation; empty ones do not count.
  private static func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }

  @Test("Every block of Swift is in a file that is compiled with the tests, word for word")
  func compiled() throws {
    let folder = SourceTree.root.appending(path: "Tests/DocumentationTests")
    let snippets = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix("Snippets.swift") }.map { folder.appending(path: $0) }
    let examples = ["Members/Members.swift"].map {
      SourceTree.root.appending(path: "Examples/\($0)")
    }
    let sources = try (snippets + examples).map {
      Self.lines(try String(contentsOf: $0, encoding: .utf8))
    }
    var count = 0
    for page in try DocumentPage.all {
      for block in page.blocks(in: "swift") {
        let isCompiled = sources.contains { $0.firstRange(of: Self.lines(block.text)) != nil }
        #expect(isCompiled, "\(page.path) line \(block.line)")
        count += 1
      }
    }
    #expect(count >= 15, "the pages were not found")
  }

  @Test("The article on errors has every number with its name")
  func errors() throws {
    let files = [
      "Engine/Model/ContentError.swift", "AppUpdate/Values/ErrorCodes.swift",
    ]
    let source = try files.map {
      try String(contentsOf: SourceTree.root.appending(path: "Sources/\($0)"), encoding: .utf8)
    }.joined()
    let article = try DocumentPage(
      "Sources/Engine/HostedContent/HostedContent.docc/ErrorsAndRemedies.md")
    let codes = source.matches(of: /public static let (\w+) = Self\(rawValue: (\d+)\)/)
    #expect(codes.count > 70)
    for code in codes {
      #expect(article.text.contains("| \(code.output.2) | `\(code.output.1)` |"))
    }
  }
}
