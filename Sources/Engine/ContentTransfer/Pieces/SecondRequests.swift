/// The second requests of one fetch, for pieces that idle requests leave out; pure.
///
/// There is one pair of requests for the same pieces at a time. The first of the two to deliver a
/// piece continues, and the other one is cancelled.
struct SecondRequests {
  /// A request of the pair, by its number.
  enum Part {
    case idle, second
  }

  /// No more than one byte in so many may be fetched in vain.
  private static let lostShare: Int64 = 20

  private var pair: (idle: Int, second: Int)?
  /// Second requests that were made in vain, until they end.
  private var lost: Set<Int> = []
  /// Bytes that those brought.
  private var lostBytes: Int64 = 0

  /// Whether there is a pair now.
  var isActive: Bool { pair != nil }

  /// Whether the bytes that were fetched in vain allow another pair, for a file of `length` bytes.
  func allowsMore(length: Int64) -> Bool { lostBytes * Self.lostShare <= length }

  /// Request `second` was sent for the pieces of request `idle`.
  mutating func begin(idle: Int, second: Int) { pair = (idle, second) }

  /// Ends the pair if `number` belongs to it; what `number` was in it, and the number of the other
  /// one.
  mutating func end(_ number: Int) -> (part: Part, rival: Int)? {
    guard let pair, number == pair.idle || number == pair.second else { return nil }
    self.pair = nil
    return number == pair.idle ? (.idle, pair.second) : (.second, pair.idle)
  }

  /// Whether `number` is the second one of the pair.
  func isSecond(_ number: Int) -> Bool { pair?.second == number }

  /// Request `second` was cancelled, because the idle one continued.
  mutating func lose(_ second: Int) { lost.insert(second) }

  /// Request `number` has ended with `received` bytes.
  mutating func count(_ received: Int64, of number: Int) {
    if lost.remove(number) != nil { lostBytes += received }
  }
}
