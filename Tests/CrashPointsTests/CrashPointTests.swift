import HostedCrashPoints
import HostedTestSupport
import HostedTestTraits
import Testing

/// A separate process kills itself at its n-th operation on the file system or the journal.
///
/// Tests every n in complete campaigns, otherwise a sample; a failure names the step. Data that was
/// not synced survives here; the simulation loses it.
@Suite("A process may be killed at any step", .timeLimit(.minutes(60)))
struct CrashPointTests {
  @Test(.slow, arguments: SlowTests.part(of: CrashOperation.allCases))
  func `after a kill at any step nothing is incomplete or lost, and the next start completes it`(
    operation: CrashOperation
  ) async throws {
    let template = try World()
    try await operation.prepare(template)
    let (survived, all) = try await onOwnThread(givingWay: true) {
      var survived = 0
      for n in SlowTests.steps(everyOf: 30) {
        guard try Self.survives(n, of: operation, template) else { return (survived, n - 1) }
        survived += 1
      }
      return (survived, 0)
    }
    print("crash points: \(operation.rawValue) \(survived) tried of at most \(all), all survived")
    #expect(survived > 0)
  }

  /// Kills a process at step `n` and starts it again; returns false if it ended before that step.
  private static func survives(_ n: Int, of operation: CrashOperation, _ template: World) throws
    -> Bool
  {
    let world = try template.copy()
    let end = try drive(operation, world, n)
    #expect(end.wasKilled || end.status == 0, "\(operation) step \(n): \(end.output)")
    expect(try Inspection.afterEnd(of: operation, in: world), operation, n)
    expect(try Inspection.afterRestart(of: operation, in: world), operation, n)
    // The next start may be killed, too, during its recovery.
    _ = try drive(operation, world, 1 + n % 50)
    expect(try Inspection.afterEnd(of: operation, in: world), operation, n)
    let again = try drive(operation, world, 0)
    #expect(again.status == 0, "\(operation) after step \(n): \(again.output)")
    expect(try Inspection.afterSuccess(of: operation, in: world), operation, n)
    return end.wasKilled
  }

  private static func drive(_ operation: CrashOperation, _ world: World, _ n: Int) throws
    -> Program.End
  {
    try Program.run(Program.path("HostedCrashDriver"), [operation.rawValue, world.path, "\(n)"])
  }

  private static func expect(_ problems: [String], _ operation: CrashOperation, _ n: Int) {
    for problem in problems { Issue.record("\(operation) step \(n): \(problem)") }
  }
}
