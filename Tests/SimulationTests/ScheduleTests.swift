import Simulation
import TestSupport
import Testing

/// Schedules of the whole queue, and whether they would notice anything.
///
/// The limit is that of all that gives way to other tests. A schedule has a bound to its steps, so
/// that one that never ends breaks a rule and needs no clock.
@Suite("Random schedules with faults and crashes keep every rule", .timeLimit(.minutes(60)))
struct ScheduleTests {
  /// Runs `simulate`, which was built beside the tests: there sets have the same order each time.
  private static func simulate(_ words: String...) async throws -> Program.End {
    try await onOwnThread(givingWay: true) { try Program.run(Program.path("simulate"), words) }
  }

  @Test("No rule is broken")
  func schedules() async throws {
    let count = SlowTests.count(quick: 200, slow: 1_000, all: 5_000)
    let result = try await Self.simulate("--seeds", "\(count)")
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.hasPrefix("\(count) schedules"))
  }

  @Test("No rule is broken on a disk without the flags of renameat2")
  func plainRenames() async throws {
    try await onOwnThread(givingWay: true) {
      let simulation = try Simulation(hasRenameFlags: false)
      for seed: UInt64 in 1...40 {
        let violation = simulation.run(seed: seed).violation
        #expect(violation == nil, "seed \(seed): \(violation.map { "\($0)" } ?? "")")
      }
    }
  }

  @Test("The same seed is the same history, step by step, in another process, too")
  func replay() async throws {
    let first = try await Self.simulate("--seeds", "20", "--digests", "--json")
    let second = try await Self.simulate("--seeds", "20", "--digests", "--json")
    #expect(first.status == 0)
    let digests = first.output.split(separator: "\n").filter { $0.hasPrefix("seed") }
    #expect(Set(digests).count == 20)
    #expect(digests == second.output.split(separator: "\n").filter { $0.hasPrefix("seed") })
  }

  @Test(
    "A disk that only pretends to sync is found out, and the history made short",
    arguments: [DiskCall.syncfs, .syncFolder])
  func lyingDisk(call: DiskCall) async throws {
    try await onOwnThread {
      let simulation = try Simulation(ignoringSyncs: [call])
      let broken = (1...200).lazy.map { simulation.run(seed: $0) }.first { $0.violation != nil }
      let outcome = try #require(broken)
      let rule = try #require(outcome.violation).rule
      let choices = simulation.shrink(outcome.choices, rule: rule, attempts: 300)
      let shortest = simulation.run(choices)
      #expect(shortest.violation?.rule == rule)
      // Less is chosen; the history itself need not have fewer steps.
      #expect(
        choices.joined().count { $0 != 0 } < outcome.choices.joined().count { $0 != 0 })
      #expect(shortest.totals.faults.isEmpty, "No fault is needed: \(shortest.totals.faults)")
    }
  }
}
