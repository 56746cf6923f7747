import HostedModel

/// Groups missing pieces into requests, and counts attempts.
///
/// Pure. Neighbors are merged into one range, including gaps that cost less than another request. A
/// range is a share of the missing bytes. Therefore, parallel connections end at about the same
/// time, and the number of requests only grows with the logarithm of the size.
struct FetchPlan {
  /// The sizes of ranges, in bytes.
  struct Sizes: Hashable {
    /// The maximum gap that is fetched and discarded.
    var gap: Int64 = 16 << 10
    /// The maximum unneeded bytes of a file that is requested as a whole.
    ///
    /// They are also at most 1/32 of the file. All caches store whole files, and servers send them
    /// in the fewest packets.
    var edge: Int64 = 8 << 10
    /// The minimum length of a range, unless fewer bytes are missing.
    var minimum: Int64 = 4 << 20
    /// The maximum length of a range of several pieces, so that other transfers get a turn.
    var maximum: Int64 = 64 << 20
  }

  /// The pieces, sorted by offset; they do not overlap.
  let pieces: [Piece]
  private let sizes: Sizes
  /// The numbers of the pieces that are not requested now.
  private var waiting = RangeSet<Int>()
  private var waitingBytes: Int64 = 0
  private var isDone: [Bool]
  private var attempts: [Int: Int] = [:]
  /// The number of missing pieces.
  private(set) var left: Int

  /// Creates a plan for `pieces`, which are sorted and do not overlap.
  init(_ pieces: [Piece], sizes: Sizes = Sizes()) {
    self.pieces = pieces
    self.sizes = sizes
    isDone = Array(repeating: false, count: pieces.count)
    left = pieces.count
    putBack(Array(pieces.indices))
  }

  /// Whether there are pieces to request.
  var hasWaiting: Bool { !waiting.isEmpty }

  /// The length of the next piece to request, or 0.
  var nextLength: Int { waiting.ranges.first.map { pieces[$0.lowerBound].length } ?? 0 }

  func isDone(_ number: Int) -> Bool { isDone[number] }

  /// Returns the pieces of the next range for `connections` parallel requests.
  ///
  /// The range has at most `limit` bytes, or one piece. Nil if no piece is waiting.
  mutating func next(connections: Int, limit: Int64 = .max) -> [Int]? {
    guard let run = waiting.ranges.first else { return nil }
    let share = waitingBytes / Int64(2 * max(1, connections))
    let maximum = min(max(share, sizes.minimum), sizes.maximum, limit)
    var end = run.lowerBound + 1
    while end < run.upperBound, pieces[end].offset - pieces[end - 1].end <= sizes.gap,
      pieces[end].end - pieces[run.lowerBound].offset <= maximum
    {
      end += 1
    }
    let taken = run.lowerBound..<end
    waiting.remove(contentsOf: taken)
    waitingBytes -= taken.reduce(0) { $0 + Int64(pieces[$1].length) }
    return Array(taken)
  }

  /// Returns all pieces to request, for a server that only sends whole files.
  mutating func takeAll() -> [Int] {
    let all = waiting.ranges.flatMap { Array($0) }
    waiting = RangeSet()
    waitingBytes = 0
    return all
  }

  /// Returns the range from the first to the last of `numbers`, which are sorted.
  func span(of numbers: [Int]) -> Range<Int64> {
    guard let first = numbers.first, let last = numbers.last else { return 0..<0 }
    return pieces[first].offset..<pieces[last].end
  }

  /// Whether `numbers` cover a file of `length` bytes, or enough of it to request all.
  func isWhole(_ numbers: [Int], of length: Int64) -> Bool {
    let rest = length - Int64(span(of: numbers).count)
    return rest <= min(sizes.edge, length / 32)
  }

  /// Records that piece `number` is complete and verified.
  mutating func complete(_ number: Int) {
    guard !isDone[number] else { return }
    isDone[number] = true
    left -= 1
  }

  /// Counts a failed attempt for piece `number`, and returns the number of attempts.
  mutating func fail(_ number: Int) -> Int {
    attempts[number, default: 0] += 1
    return attempts[number, default: 0]
  }

  /// Puts the missing pieces of `numbers` back, and returns the first of them.
  @discardableResult mutating func putBack(_ numbers: [Int]) -> Int? {
    let missing = numbers.filter { !isDone[$0] }
    for number in missing {
      waiting.insert(contentsOf: number..<(number + 1))
      waitingBytes += Int64(pieces[number].length)
    }
    return missing.first
  }
}
