import Foundation
import HostedTestSupport
import Testing

/// Documentation/Dependencies.md lists our own code for which a library exists.
@Suite("The list of our own code")
struct OwnCodeTests {
  @Test("Its files exist, and have about as many lines as it says")
  func sizes() throws {
    let page = try DocumentPage("Documentation/Dependencies.md")
    let sources = SourceTree.root.appending(path: "Sources")
    let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
      .filter { $0.hasSuffix(".swift") }
    let rows = page.prose.matches(of: /(?m)^\| [^|]+ \| (`[^|]+`) \| (\d+) \|/)
    #expect(rows.count >= 20)
    for row in rows {
      let names = String(row.output.1)
      let expected = try #require(Int(row.output.2))
      var lines = 0
      for span in names.matches(of: /`([^`]+)`/) {
        let name = String(span.output.1)
        let isFolder = name.hasSuffix("/")
        let found = files.filter { $0.contains(isFolder ? "/\(name)" : "/\(name).swift") }
        #expect(isFolder ? !found.isEmpty : found.count == 1, "\(name)")
        for file in found {
          let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
          lines += text.utf8.count(where: { $0 == UInt8(ascii: "\n") })
        }
      }
      let difference = abs(lines - expected)
      #expect(difference <= 10 + expected / 5, "\(names): \(lines) lines")
    }
  }
}
