import TestSupport

/// What a choice is about; each kind has a stream of its own, so that fewer faults do not reorder
/// the threads.
package enum ChoiceKind: Int, CaseIterable, Codable, Sendable {
  /// What the schedule is made of: products, how many faults and crashes.
  case plan
  /// What goes wrong.
  case fault
  /// Who runs next.
  case order
  /// What the service and its observers do.
  case action
  /// When the process ends.
  case crash
  /// What a disk keeps at a crash.
  case disk
}

/// Every decision of a schedule: drawn from a seed, or as they are given, and written down.
///
/// 0 is always the choice that changes least: no fault, no crash, the thread that runs goes on. So
/// a history becomes shorter by turning choices into 0, and ends where its choices end.
// Sendable, because only the thread that has the baton chooses.
package final class Choices: @unchecked Sendable {
  private var streams: [Stream]

  private struct Stream {
    var random: SplitMix
    /// Nil draws from `random`.
    var given: [UInt32]?
    var made: [UInt32] = []
  }

  /// Draws from `seed`.
  package init(seed: UInt64) {
    streams = ChoiceKind.allCases.map { kind in
      var random = SplitMix(state: seed &* 0x9e37_79b9 &+ UInt64(kind.rawValue) << 56)
      random.state = random.next() ^ seed
      return Stream(random: random)
    }
  }

  /// Repeats `given`, by kind; 0 once they are used up.
  package init(_ given: [[UInt32]]) {
    streams = given.map { Stream(random: SplitMix(state: 0), given: $0) }
  }

  /// The choices that were made, by kind.
  package var made: [[UInt32]] { streams.map(\.made) }

  /// One of 0..<`count`.
  func pick(_ kind: ChoiceKind, _ count: Int) -> Int {
    guard count > 1 else { return 0 }
    return choose(kind) { random in
      Int(random.next() % UInt64(count))
    } limit: {
      min($0, count - 1)
    }
  }

  /// True once in `rate` times on average; never for 0.
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
