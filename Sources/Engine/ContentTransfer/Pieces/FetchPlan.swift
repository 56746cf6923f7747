/// Which pieces are asked for together, and how often each was; pure.
///
/// Neighbors are merged into one range, also over gaps that cost less than a request of their own.
/// A range is a share of what is left, so that several connections end at about the same time and
/// the number of requests grows with the logarithm of the size only.
struct FetchPlan {
  /// How large ranges are, in bytes.
  struct Sizes: Hashable {
    /// A gap up to this is fetched and thrown away.
    var gap: Int64 = 16 << 10
    /// A file of which no more than this, and a thirty-second part, is not wanted is asked for as a
    /// whole: that every cache keeps, and servers send it in the fewest packets.
    var edge: Int64 = 8 << 10
    /// What is left is not cut into ranges smaller than this.
    var minimum: Int64 = 4 << 20
    /// No range is longer, unless it is one piece, so that places change hands.
    var maximum: Int64 = 64 << 20
  }

  /// The pieces by offset, apart from each other.
  let pieces: [Piece]
  private let sizes: Sizes
  /// Runs of pieces that nobody fetches now, in order; neighbors within the gap are one run.
  private var waiting: [Range<Int>] = []
  private var waitingBytes: Int64 = 0
  private var isDone: [Bool]
  private var attempts: [Int: Int] = [:]
  /// Pieces that are not done.
  private(set) var left: Int

  /// Plans for `pieces`, which are sorted and do not overlap.
  init(_ pieces: [Piece], sizes: Sizes = Sizes()) {
    self.pieces = pieces
    self.sizes = sizes
    isDone = Array(repeating: false, count: pieces.count)
    left = pieces.count
    for number in pieces.indices { putBack(number) }
  }

  /// Whether pieces wait to be asked for.
  var hasWaiting: Bool { !waiting.isEmpty }

  func isDone(_ number: Int) -> Bool { isDone[number] }

  /// The next range's pieces, when `connections` share the work; nil when none wait.
  mutating func next(connections: Int) -> [Int]? {
    guard let run = waiting.first else { return nil }
    let share = waitingBytes / Int64(2 * max(1, connections))
    let maximum = min(max(share, sizes.minimum), sizes.maximum)
    var end = run.lowerBound + 1
    while end < run.upperBound, pieces[end].end - pieces[run.lowerBound].offset <= maximum {
      end += 1
    }
    let taken = run.lowerBound..<end
    if end == run.upperBound { waiting.removeFirst() } else { waiting[0] = end..<run.upperBound }
    waitingBytes -= bytes(of: taken)
    return Array(taken)
  }

  /// All pieces that wait, for a server that sends whole files only.
  mutating func takeAll() -> [Int] {
    let all = waiting.flatMap { Array($0) }
    waiting = []
    waitingBytes = 0
    return all
  }

  /// The bytes from the first to the last of `numbers`, which are in order.
  func span(of numbers: [Int]) -> Range<Int64> {
    guard let first = numbers.first, let last = numbers.last else { return 0..<0 }
    return pieces[first].offset..<pieces[last].end
  }

  /// Whether `numbers` are all of a file of `length` bytes, or so much that all may be asked for.
  func isWhole(_ numbers: [Int], of length: Int64) -> Bool {
    let rest = length - Int64(span(of: numbers).count)
    return rest <= min(sizes.edge, length / 32)
  }

  /// Piece `number` is there and right.
  mutating func complete(_ number: Int) {
    guard !isDone[number] else { return }
    isDone[number] = true
    left -= 1
  }

  /// Counts a failed attempt at piece `number`; how many there were.
  mutating func fail(_ number: Int) -> Int {
    attempts[number, default: 0] += 1
    return attempts[number, default: 0]
  }

  /// Lets the pieces among `numbers` that are not done wait again; the first of them.
  @discardableResult mutating func putBack(_ numbers: [Int]) -> Int? {
    let missing = numbers.filter { !isDone[$0] }
    for number in missing { putBack(number) }
    return missing.first
  }

  private mutating func putBack(_ number: Int) {
    waitingBytes += Int64(pieces[number].length)
    let place = firstRun(after: number)
    let joinsBefore = place > 0 && isNear(waiting[place - 1].upperBound, number)
    let joinsAfter = place < waiting.count && isNear(number + 1, waiting[place].lowerBound)
    switch (joinsBefore, joinsAfter) {
    case (true, true):
      waiting[place - 1] = waiting[place - 1].lowerBound..<waiting[place].upperBound
      waiting.remove(at: place)
    case (true, false): waiting[place - 1] = waiting[place - 1].lowerBound..<(number + 1)
    case (false, true): waiting[place] = number..<waiting[place].upperBound
    case (false, false): waiting.insert(number..<(number + 1), at: place)
    }
  }

  /// Whether piece `number` follows the one before it closely, and nothing is missing between.
  private func isNear(_ end: Int, _ start: Int) -> Bool {
    end == start && pieces[start].offset - pieces[end - 1].end <= sizes.gap
  }

  private func firstRun(after number: Int) -> Int {
    var low = 0
    var high = waiting.count
    while low < high {
      let middle = (low + high) / 2
      if waiting[middle].lowerBound > number { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private func bytes(of run: Range<Int>) -> Int64 {
    run.reduce(0) { $0 + Int64(pieces[$1].length) }
  }
}
