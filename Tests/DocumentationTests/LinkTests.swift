import Foundation
import TestSupport
import Testing

/// Links between pages, and references from pages to files.
@Suite("Links in the documentation")
struct LinkTests {
  /// Returns every page outside build folders.
  private static var pages: [URL] {
    get throws {
      let manager = FileManager.default
      var pages = try manager.contentsOfDirectory(atPath: SourceTree.root.path)
        .filter { $0.hasSuffix(".md") }.map { SourceTree.root.appending(path: $0) }
      for folder in ["Benchmarks", "Documentation", "SamplePackages", "Sources"] {
        let start = SourceTree.root.appending(path: folder)
        for path in try manager.subpathsOfDirectory(atPath: start.path) where path.hasSuffix(".md")
        {
          pages.append(start.appending(path: path))
        }
      }
      return pages
    }
  }

  /// Returns a page without its code blocks.
  private static func prose(_ page: URL) throws -> String {
    try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n```").enumerated()
      .filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined(separator: "\n")
  }

  /// Returns the anchors that code hosts create for a page's headings.
  private static func anchors(_ page: URL) throws -> Set<String> {
    Set(
      try prose(page).matches(of: /(?m)^#+ (.+)$/).map { heading in
        String(
          heading.output.1.lowercased().replacing(" ", with: "-")
            .filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
      })
  }

  @Test("Every link to a file leads to an existing file and heading")
  func links() throws {
    var count = 0
    for page in try Self.pages {
      let text = try Self.prose(page)
      let links =
        text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }
        + text.matches(of: /(?m)^\[[^\]]+\]: (\S+)$/).map { String($0.output.1) }
      for link in links where !link.hasPrefix("http") && !link.hasPrefix("doc:") {
        let parts = link.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
        let target =
          parts[0].isEmpty
          ? page : page.deletingLastPathComponent().appending(path: parts[0]).standardizedFileURL
        let exists = FileManager.default.fileExists(atPath: target.path(percentEncoded: false))
        #expect(exists, "\(page.lastPathComponent): \(link)")
        if exists, parts.count > 1 {
          #expect(
            try Self.anchors(target).contains(parts[1]), "\(page.lastPathComponent): \(link)")
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
    for page in try Self.pages {
      let text = try String(contentsOf: page, encoding: .utf8)
      let scripts = text.matches(
        of: /(?:^|[\s`(])((?:Scripts|Benchmarks)\/[a-z-]+(?:\.[a-z]+)?)(?![\w\/-])/)
      for script in scripts {
        let path = SourceTree.path(String(script.output.1))
        let exists = FileManager.default.fileExists(atPath: path)
        #expect(exists, "\(page.lastPathComponent): \(script.output.1)")
        count += 1
      }
      for test in text.matches(of: /`([A-Z]\w+Tests)(?:\.\w+)?`/) where page.path.contains("/Doc") {
        let name = String(test.output.1)
        let isFolder = FileManager.default.fileExists(
          atPath: tests.appending(path: name).path(percentEncoded: false))
        #expect(
          isFolder || files.contains("\(name).swift"), "\(page.lastPathComponent): \(name)")
        count += 1
      }
    }
    #expect(count > 50, "the names were not found")
  }

  @Test("Lines of a page have at most 120 columns, and guides at most 150 lines")
  func size() throws {
    for page in try Self.pages {
      let lines = try String(contentsOf: page, encoding: .utf8).split(
        separator: "\n", omittingEmptySubsequences: false)
      for line in lines where line.count > 120 {
        Issue.record("\(page.lastPathComponent): \(line.prefix(60))…")
      }
      if page.deletingLastPathComponent().lastPathComponent == "Documentation" {
        #expect(lines.count <= 151, "\(page.lastPathComponent)")
      }
    }
  }
}
