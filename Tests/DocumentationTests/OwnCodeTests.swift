import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Documentation/Dependencies.md lists our own code for which a library exists.
@Suite("The list of our own code")
struct OwnCodeTests {
  @Test("Its types exist", .slow)
  func types() throws {
    let page = try DocumentPage("Documentation/Dependencies.md")
    let sources = SourceTree.root.appending(path: "Sources")
    let code = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: sources.appending(path: $0), encoding: .utf8) }
      .joined(separator: "\n")
    let section = try #require(page.prose.components(separatedBy: "| what | types | reason |").last)
    let rows = section.matches(of: /(?m)^\| [^|]+ \| (`[^|]+`) \|/)
    #expect(rows.count >= 20)
    for row in rows {
      for span in row.output.1.matches(of: /`([^`]+)`/) {
        let pattern = try Regex("\\b(struct|class|enum|actor|func) \(span.output.1)\\b")
        #expect(code.contains(pattern), "\(span.output.1)")
      }
    }
  }
}
