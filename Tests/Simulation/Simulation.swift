/// Runs schedules, and shortens the history of one that breaks a rule.
package final class Simulation {
  private let scheduler: Scheduler
  private let store: SimulatedStore
  private let ignoredSyncs: Set<DiskCall>
  private let hasRenameFlags: Bool

  /// The result of a schedule.
  package struct Outcome {
    package let violation: Violation?
    package let choices: [[UInt32]]
    package let totals: Totals
    package let trace: Trace
  }

  /// Creates a simulation.
  ///
  /// `ignoredSyncs` are calls that the disk ignores, to test the rules.
  package init(
    ignoringSyncs ignoredSyncs: Set<DiskCall> = [], hasRenameFlags: Bool = true
  ) throws {
    self.ignoredSyncs = ignoredSyncs
    self.hasRenameFlags = hasRenameFlags
    store = try SimulatedStore.standard.get()
    scheduler = Scheduler(Choices(seed: 0))
  }

  /// Runs the schedule of `seed`.
  package func run(seed: UInt64, _ trace: Trace = Trace()) -> Outcome {
    run(Choices(seed: seed), trace)
  }

  /// Repeats a schedule with its choices.
  package func run(_ choices: [[UInt32]], _ trace: Trace = Trace()) -> Outcome {
    run(Choices(choices), trace)
  }

  private func run(_ choices: Choices, _ trace: Trace) -> Outcome {
    let world = World(scheduler, choices, store, trace)
    world.disk.ignoresSyncs = ignoredSyncs
    world.disk.hasRenameFlags = hasRenameFlags
    SimulatedService(world).run()
    var totals = world.totals
    totals.schedules = 1
    totals.switches = scheduler.switches
    return Outcome(
      violation: world.violation, choices: choices.made, totals: totals, trace: trace)
  }
}
