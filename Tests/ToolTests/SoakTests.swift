import TestSupport
import Testing

/// `Scripts/soak` runs for minutes; this is the same for seconds.
@Suite("Services that everything around breaks for a while", .timeLimit(.minutes(10)))
struct SoakTests {
  @Test(.enabled(if: SlowTests.areOn, "with the slow tests"))
  func `every promise is kept, and nothing grows`() async throws {
    let end = try await onOwnThread {
      try Program.run(Program.path("soak"), ["--seconds", "20", "--seed", "1"])
    }
    for line in end.output.split(separator: "\n") where line.hasPrefix("BROKEN: ") {
      Issue.record("\(line)")
    }
    #expect(end.status == 0 && !end.wasKilled)
    print(end.output)
  }
}
