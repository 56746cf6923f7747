import Foundation
import HostedTestSupport
import Testing

/// Links between pages, and references from pages to files.
@Suite("Links in the documentation")
struct LinkTests {
  /// Returns the anchors that code hosts create for a page's headings.
  private static func anchors(_ page: DocumentPage) -> Set<String> {
    Set(
      page.prose.matches(of: /(?m)^#+ (.+)$/).map { heading in
        String(
          heading.output.1.lowercased().replacing(" ", with: "-")
            .filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
      })
  }

  @Test("Every link to a file leads to an existing file and heading")
  func links() throws {
    let pages = try DocumentPage.all
    let anchors = Dictionary(
      uniqueKeysWithValues: pages.map {
        ($0.url.standardizedFileURL.path(percentEncoded: false), Self.anchors($0))
      })
    var count = 0
    for page in pages {
      let links =
        page.prose.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }
        + page.prose.matches(of: /(?m)^\[[^\]]+\]: (\S+)$/).map { String($0.output.1) }
      for link in links where !link.hasPrefix("http") && !link.hasPrefix("doc:") {
        let parts = link.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
        let target =
          parts[0].isEmpty
          ? page.url : page.url.deletingLastPathComponent().appending(path: parts[0])
        let path = target.standardizedFileURL.path(percentEncoded: false)
        let exists = FileManager.default.fileExists(atPath: path)
        #expect(exists, "\(page.path): \(link)")
        if exists, parts.count > 1 {
          #expect(anchors[path]?.contains(parts[1]) == true, "\(page.path): \(link)")
        }
        count += 1
      }
    }
    #expect(count > 100, "the links were not found")
  }

  @Test("Scripts and tests named in a page exist")
  func names() throws {
    let tests = SourceTree.root.appending(path: "Tests")
    let files = Set(
      try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        .compactMap { $0.split(separator: "/").last.map(String.init) })
    var count = 0
    for page in try DocumentPage.all {
      let scripts = page.text.matches(
        of: /(?:^|[\s`(])((?:Scripts|Benchmarks)\/[a-z-]+(?:\.[a-z]+)?)(?![\w\/-])/)
      for script in scripts {
        let path = SourceTree.root.appending(path: String(script.output.1))
          .path(percentEncoded: false)
        let exists = FileManager.default.fileExists(atPath: path)
        #expect(exists, "\(page.path): \(script.output.1)")
        count += 1
      }
      guard page.path.hasPrefix("Documentation") else { continue }
      for test in page.text.matches(of: /`([A-Z]\w+Tests)(?:\.\w+)?`/) {
        let name = String(test.output.1)
        let isFolder = FileManager.default.fileExists(
          atPath: tests.appending(path: name).path(percentEncoded: false))
        #expect(isFolder || files.contains("\(name).swift"), "\(page.path): \(name)")
        count += 1
      }
    }
    #expect(count > 50, "the names were not found")
  }

  @Test("Lines of a page have at most 120 columns, and guides at most 150 lines")
  func size() throws {
    for page in try DocumentPage.all {
      let lines = page.text.split(separator: "\n", omittingEmptySubsequences: false)
      for line in lines where line.count > 120 {
        Issue.record("\(page.path): \(line.prefix(60))…")
      }
      if page.url.deletingLastPathComponent().lastPathComponent == "Documentation" {
        #expect(lines.count <= 151, "\(page.path)")
      }
    }
  }
}
