import Foundation
import TestSupport
import Testing

/// Runs Scripts/demo like a user, with the tool that was built with the tests.
@Suite("The demo", .timeLimit(.minutes(10)))
struct DemoTests {
  private static let script = SourceTree.path("Scripts/demo")

  @Test(
    "It interrupts a download, and the next run only fetches missing data",
    arguments: SlowTests.cases([[], ["--http"]], quick: 1))
  func demo(words: [String]) throws {
    let tool = try Tool()
    let result = try tool.run(
      words, program: Self.script,
      environment: ["HOSTEDCONTENT_TOOL": Tool.path, "TMPDIR": tool.folder.path])
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(result.output.contains("The film is installed, byte for byte."))
    #expect(result.output.contains(#"--title "Chapter 1" --price 0.99"#))
    let kept = try #require(result.output.firstMatch(of: /SIGKILL. (\d+) bytes are kept/))
    #expect(try #require(Int(kept.output.1)) > 15_000_000)
    let fetched = try #require(result.output.firstMatch(of: /fetched ([\d.]+) MB of ([\d.]+) MB/))
    #expect(
      try #require(Double(fetched.output.1)) < (try #require(Double(fetched.output.2))) - 10)
  }
}
