/// The hedged requests of one fetch, for pieces of idle requests.
///
/// Pure. There is at most one pair of requests for the same pieces at a time. The first one to
/// deliver a piece continues, and the other one is cancelled.
struct HedgedRequests {
  /// The role of a request in the pair.
  enum Part {
    case idle, second
  }

  /// The maximum share of wasted bytes is one in this many.
  private static let lostShare: Int64 = 20

  private var pair: (idle: Int, second: Int)?
  /// The second requests that turned out useless and have not ended yet.
  private var lost: Set<Int> = []
  /// The bytes of useless second requests that have ended.
  private var lostBytes: Int64 = 0

  /// Whether there is a pair now.
  var isActive: Bool { pair != nil }

  /// Whether few enough bytes were wasted for another pair, in a file of `length` bytes.
  func allowsMore(length: Int64) -> Bool { lostBytes * Self.lostShare <= length }

  /// Records that `second` was sent for the pieces of `idle`.
  mutating func begin(idle: Int, second: Int) { pair = (idle, second) }

  /// Ends the pair if `number` belongs to it.
  ///
  /// Returns its role, and the number of the other request.
  mutating func end(_ number: Int) -> (part: Part, rival: Int)? {
    guard let pair, number == pair.idle || number == pair.second else { return nil }
    self.pair = nil
    return number == pair.idle ? (.idle, pair.second) : (.second, pair.idle)
  }

  /// Whether `number` is the second request of the pair.
  func isSecond(_ number: Int) -> Bool { pair?.second == number }

  /// Records that `second` was cancelled because the idle request continued.
  mutating func lose(_ second: Int) { lost.insert(second) }

  /// Records that `number` has ended with `received` bytes.
  mutating func count(_ received: Int64, of number: Int) {
    if lost.remove(number) != nil { lostBytes += received }
  }
}
