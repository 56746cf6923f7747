import HostedTestSupport

/// The subject of a choice.
///
/// Each kind has its own stream.
///
/// Fewer faults therefore do not change the order of threads.
package enum ChoiceKind: Int, CaseIterable, Codable, Sendable {
  /// The parameters of the schedule: products, rates of faults and crashes.
  case plan
  /// Which faults occur.
  case fault
  /// Which thread runs next.
  case order
  /// What the service and its observers do.
  case action
  /// When the process ends.
  case crash
  /// What a disk keeps after a crash.
  case disk
}

/// The choices of a schedule: drawn from a seed or given, and recorded.
///
/// 0 is always the simplest choice: no fault, no crash, the same thread continues. To shorten a
/// history, choices are set to 0 or removed at the end.
// Sendable, because only the scheduled thread uses it.
package final class Choices: @unchecked Sendable {
  private var streams: [Stream]

  private struct Stream {
    var random: SplitMix
    /// Nil if choices are drawn from `random`.
    var given: [UInt32]?
    var made: [UInt32] = []
  }

  /// Draws choices from `seed`.
  package init(seed: UInt64) {
    streams = ChoiceKind.allCases.map { kind in
      var random = SplitMix(state: seed &* 0x9e37_79b9 &+ UInt64(kind.rawValue) << 56)
      random.state = random.next() ^ seed
      return Stream(random: random)
    }
  }

  /// Repeats the choices in `given`, by kind.
  ///
  /// Further choices are 0.
  package init(_ given: [[UInt32]]) {
    streams = given.map { Stream(random: SplitMix(state: 0), given: $0) }
  }

  /// The choices so far, by kind.
  package var made: [[UInt32]] { streams.map(\.made) }

  /// Chooses one of 0..<`count`.
  func pick(_ kind: ChoiceKind, _ count: Int) -> Int {
    guard count > 1 else { return 0 }
    return choose(kind) { random in
      Int(random.next() % UInt64(count))
    } limit: {
      min($0, count - 1)
    }
  }

  /// Returns true in one of `rate` cases on average.
  ///
  /// Never if `rate` is 0.
  func happens(_ kind: ChoiceKind, oneIn rate: Int) -> Bool {
    guard rate > 0 else { return false }
    return choose(kind) {
      $0.next() % UInt64(rate) == 0 ? 1 : 0
    } limit: {
      $0
    } != 0
  }

  private func choose(
    _ kind: ChoiceKind, _ draw: (inout SplitMix) -> Int, limit: (Int) -> Int
  ) -> Int {
    let number = kind.rawValue
    let position = streams[number].made.count
    let choice: Int
    if let given = streams[number].given {
      choice = position < given.count ? limit(Int(given[position])) : 0
    } else {
      choice = draw(&streams[number].random)
    }
    streams[number].made.append(UInt32(choice))
    return choice
  }
}
