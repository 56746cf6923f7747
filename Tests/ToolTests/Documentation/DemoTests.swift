import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs Scripts/demo like a user, with the tool that was built with the tests.
@Suite("The demo", .timeLimit(.hang))
struct DemoTests {
  /// Runs a line or block of README in this repository, with the tool's folder as home.
  private func run(_ script: String, in tool: Tool) throws -> Tool.Result {
    try tool.follow(
      "cd \"$REPOSITORY\"\n\(script)",
      environment: [
        "REPOSITORY": SourceTree.root.path(percentEncoded: false), "HOME": tool.folder.path,
        "HOSTEDCONTENT_TOOL": Tool.path, "TMPDIR": tool.folder.path,
      ])
  }

  private func check(_ result: Tool.Result) throws {
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(result.output.contains("The film is installed, byte for byte."))
    #expect(result.output.contains(#"--title "Chapter 1" --price 0.99"#))
    let kept = try #require(result.output.firstMatch(of: /SIGKILL. (\d+) bytes are kept/))
    #expect(try #require(Int(kept.output.1)) > 15_000_000)
    let fetched = try #require(result.output.firstMatch(of: /fetched ([\d.]+) MB of ([\d.]+) MB/))
    #expect(
      try #require(Double(fetched.output.1)) < (try #require(Double(fetched.output.2))) - 10)
  }

  @Test("As in README, it continues an interrupted download, and then the tool is installed", .slow)
  func readme() throws {
    let tool = try Tool()
    let block = try #require(try DocumentPage("README.md").blocks(in: "sh").first)
    try check(run(block.text, in: tool))
    let installed = tool.folder.path(".local/bin/hostedcontent")
    #expect(try tool.run(["--version"], program: installed).status == 0)
  }

  @Test("With --http, nginx serves the store", .slow)
  func http() throws {
    let tool = try Tool()
    try check(run("Scripts/demo --http", in: tool))
  }
}
