import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The table of stories in Documentation/Stories.md.
@Suite("The table of stories")
struct StoriesTests {
  @Test("Each row names a door and a test that exists", .slow)
  func rows() throws {
    let page = try DocumentPage("Documentation/Stories.md").text
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2)
    let folder = SourceTree.root.appending(path: "Tests")
    let tests = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }.joined()
    #expect(rows.count > 20)
    for row in rows {
      let cells = row.split(separator: "|", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      #expect(["process", "HTTP", "session", "tool"].contains(cells[2]), "\(row)")
      let name = cells[3].trimmingCharacters(in: ["“", "”"])
      let isTested = ["\"", "`"].contains { tests.contains("\($0)\(name)\($0)") }
      #expect(name.count > 10 && isTested, "\(row)")
    }
  }
}
