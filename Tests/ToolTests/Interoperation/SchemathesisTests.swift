import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs Scripts/api-cases with the tool that was built with the tests.
@Suite(
  "Requests to the store server that schemathesis generates",
  .slow,
  .enabled(if: !SlowTests.areOn || PythonPeers.areHere, PythonPeers.reason),
  .long, .timeLimit(.minutes(60)))
struct SchemathesisTests {
  @Test("Each response is as the server's own description of its API says")
  func cases() throws {
    let tool = try Tool()
    let count = SlowTests.count(500, all: 10_000)
    let seed = SlowTests.seed(of: "api cases")
    let result = try tool.run(
      [String(count), String(seed)], program: SourceTree.path("Scripts/api-cases"),
      environment: ["HOSTEDCONTENT_TOOL": Tool.path, "TMPDIR": tool.folder.path])
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    let last = try #require(result.output.split(separator: "\n").last)
    #expect(last.contains(/^[1-9][0-9]{2,} cases, 0 failures, seed [0-9]+$/), "\(result.errors)")
    print("schemathesis: \(last)")
  }
}
