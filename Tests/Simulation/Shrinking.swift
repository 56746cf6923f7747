extension Simulation {
  /// Returns choices that break the same rule as `choices`, and are as simple as possible.
  ///
  /// Choices are set to 0, first many at a time and then fewer, while the same rule is broken. 0
  /// means no fault, no crash, no switch, or the first option. Runs at most `attempts` schedules.
  package func shrink(_ choices: [[UInt32]], rule: String, attempts: Int = 4000) -> [[UInt32]] {
    var shrinker = Shrinker(simulation: self, rule: rule, best: choices, attempts: attempts)
    shrinker.run()
    return shrinker.best
  }
}

private struct Shrinker {
  let simulation: Simulation
  let rule: String
  var best: [[UInt32]]
  var attempts: Int

  mutating func run() {
    var before: [[UInt32]] = []
    while best != before, attempts > 0 {
      before = best
      // The least important kinds come first: crashes, faults, actions and the order of threads.
      for kind in [ChoiceKind.crash, .fault, .action, .order, .disk, .plan] {
        shorten(kind.rawValue)
      }
    }
  }

  /// Sets choices of one kind to 0: all of them, then halves, down to single choices.
  private mutating func shorten(_ kind: Int) {
    var size = max(1, best[kind].count)
    while size >= 1, attempts > 0 {
      var start = 0
      while start < best[kind].count, attempts > 0 {
        let range = start..<min(start + size, best[kind].count)
        start += size
        guard best[kind][range].contains(where: { $0 != 0 }) else { continue }
        var candidate = best
        for index in range { candidate[kind][index] = 0 }
        take(candidate)
      }
      size /= 2
    }
    while best[kind].last == 0 { best[kind].removeLast() }
  }

  private mutating func take(_ candidate: [[UInt32]]) {
    attempts -= 1
    if simulation.run(candidate).violation?.rule == rule { best = candidate }
  }
}
