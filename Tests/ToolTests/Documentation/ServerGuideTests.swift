import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs the commands and the fault script of Documentation/Server.md.
@Suite("The server's guide", .timeLimit(.hang))
struct ServerGuideTests {
  private let page: DocumentPage
  private let tool: Tool
  /// The rules of the guide's script.
  private let rules: [String]

  init() throws {
    page = try DocumentPage("Documentation/Server.md")
    tool = try Tool()
    try tool.offerBook()
    let faults = try #require(page.blocks(in: "faults").first).text
    try tool.write(faults, to: "faults.txt")
    rules = faults.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { $0.split(separator: " ").joined(separator: " ") }
    try tool.write(TestCertificate.right.chain, to: "chain.pem")
    try tool.write(TestCertificate.right.key, to: "key.pem")
  }

  @Test("Each command serves a store, also with the guide's faults, and ends with status 0", .slow)
  func commands() async throws {
    let lines = try #require(page.blocks(in: "sh").first).text.split(separator: "\n")
    #expect(lines.count == 3)
    for (number, line) in lines.enumerated() {
      let words = line.split(separator: " ").map(String.init)
      #expect(words.prefix(3) == ["hostedcontent", "serve", "store"])
      // The last address wins; another process may use the guide's port.
      let options = words.dropFirst(3) + ["--listen", "127.0.0.1:0"]
      try await ServeTests().serving(tool, Array(options)) { process, url in
        #expect((url.scheme == "https") == words.contains("--certificate"))
        try tool.succeed(
          "get", "com.example.book", "--store", url.absoluteString, "--root", "root.json",
          "--library", "lib-\(number)", "--ca", "chain.pem")
        process.kill(SIGTERM)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
      }
      let log = try tool.text("err.txt")
      // An install fetches an index as a whole.
      for rule in rules where words.contains("--fault") && !rule.contains(" range ") {
        #expect(log.contains(rule), "\(rule): \(log)")
      }
    }
  }
}
