import Foundation
import HostedSimulation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Schedules of the whole queue, and checks that they detect errors.
///
/// The time limit is that of all tests with low priority. A schedule has a limit of steps, so an
/// endless schedule breaks a rule without a timer.
@Suite("Random schedules with faults and crashes break no rule", .timeLimit(.minutes(60)))
struct ScheduleTests {
  /// Runs `simulate`, which was built with the tests.
  ///
  /// There, sets always have the same order.
  private static func simulate(_ words: String...) async throws -> Program.End {
    try await simulate(words)
  }

  private static func simulate(_ words: [String]) async throws -> Program.End {
    try await onOwnThread(givingWay: true) {
      try Program.run(Program.path("HostedSimulationTool"), words)
    }
  }

  @Test("No rule is broken", .slow)
  func schedules() async throws {
    let count = SlowTests.count(300, all: 5_000)
    let first = SlowTests.seed(of: "simulation")
    let result = try await Self.simulate("--seeds", "\(count)", "--first", "\(first)")
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.hasPrefix("\(count) schedules"))
    print(result.output)
  }

  @Test("The guide's commands work, and its failure has the words of the program", .slow)
  func guide() async throws {
    let page = try DocumentPage("Documentation/Simulation.md")
    let lines = try #require(page.blocks(in: "sh").first).text.split(separator: "\n")
    for line in lines {
      let words = line.prefix { $0 != "#" }.split(separator: " ").map(String.init)
      #expect(words.first == "Scripts/simulate")
      let result = try await Self.simulate(Array(words.dropFirst()))
      #expect(result.status == 0, "\(line): \(result.output)")
    }
    let source = try String(
      contentsOf: SourceTree.root.appending(path: "Tests/SimulationTool/Main.swift"),
      encoding: .utf8)
    let failure = try #require(page.blocks(in: "text").first).text
    for words in ["breaks a rule, schedule ", "The shortest history:", "Again: Scripts/simulate "] {
      #expect(failure.contains(words) && source.contains(words), "\(words)")
    }
  }

  @Test("No rule is broken on a disk without the flags of renameat2", .slow)
  func plainRenames() async throws {
    try await onOwnThread(givingWay: true) {
      let simulation = try Simulation(hasRenameFlags: false)
      for seed: UInt64 in 1...40 {
        let violation = simulation.run(seed: seed).violation
        #expect(violation == nil, "seed \(seed): \(violation.map { "\($0)" } ?? "")")
      }
    }
  }

  @Test("The same seed gives the same history in another process", .slow)
  func replay() async throws {
    let first = try await Self.simulate("--seeds", "20", "--digests", "--json")
    let second = try await Self.simulate("--seeds", "20", "--digests", "--json")
    #expect(first.status == 0)
    let digests = first.output.split(separator: "\n").filter { $0.hasPrefix("seed") }
    #expect(Set(digests).count == 20)
    #expect(digests == second.output.split(separator: "\n").filter { $0.hasPrefix("seed") })
  }

  @Test(
    "A disk that ignores syncs is detected, and the history is shortened", .slow,
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
      // The choices are simpler, but the history may have as many steps.
      #expect(
        choices.joined().count { $0 != 0 } < outcome.choices.joined().count { $0 != 0 })
      #expect(shortest.totals.faults.isEmpty, "unnecessary faults: \(shortest.totals.faults)")
    }
  }
}
