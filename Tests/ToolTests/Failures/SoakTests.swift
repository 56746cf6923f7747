import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs for seconds what `Scripts/campaign soak` runs for minutes.
@Suite("Services with failures of everything around them", .timeLimit(.hang))
struct SoakTests {
  @Test(
    .enabled(
      if: SlowTests.areOn && PeakMemory.isMeasurable, "with the slow tests, without a sanitizer"))
  func `every invariant holds, and nothing grows`() async throws {
    let seed = SlowTests.seed(of: "soak")
    let end = try await onOwnThread {
      try Program.run(Program.path("HostedSoak"), ["--seconds", "20", "--seed", "\(seed)"])
    }
    for line in end.output.split(separator: "\n") where line.hasPrefix("BROKEN: ") {
      Issue.record("\(line)")
    }
    #expect(end.status == 0 && !end.wasKilled)
    print(end.output)
  }
}
