import Concurrency

/// A buffer with whole pieces in it, one behind the other, on its way from the loop to a worker.
///
/// One side has it at a time: the loop while it is filled, the worker from the hand-over on; the
/// hand-over's lock orders them, which is why it may be shared unchecked.
final class Slab: @unchecked Sendable {
  let memory: UnsafeMutableRawBufferPointer
  /// The pieces in it, by their place in what the request wants.
  var pieces: Range<Int> = 0..<0
  /// Whether each of them has the signed digest; nil where the worker is to look.
  var isRight: [Bool?] = []
  /// Bytes of those pieces.
  var used = 0

  init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 4096) }

  deinit { memory.deallocate() }
}

/// A slab whose pieces are lent; it goes back with the last of them, on the thread that lets go of
/// it.
final class SlabLoan: Sendable {
  let slab: Slab
  private let giveBack: @Sendable (Slab) -> Void

  init(_ slab: Slab, giveBack: @escaping @Sendable (Slab) -> Void) {
    self.slab = slab
    self.giveBack = giveBack
  }

  deinit { giveBack(slab) }
}

/// Keeps slabs for further use while anything is fetched, since fresh memory costs a page fault for
/// each 4 KiB.
final class SlabPool: Sendable {
  private let state = Mutex(State())

  private struct State {
    var idle: [Int: [Slab]] = [:]
    var fetches = 0
  }

  /// A fetch begins.
  func beginFetch() { state.withLock { $0.fetches += 1 } }

  /// A fetch has ended; with the last one all idle memory goes.
  func endFetch() {
    state.withLock { state in
      state.fetches -= 1
      if state.fetches == 0 { state.idle = [:] }
    }
  }

  /// A slab of at least `capacity` bytes.
  func take(capacity: Int) -> Slab {
    let rounded = Self.rounded(capacity)
    return state.withLock { $0.idle[rounded]?.popLast() } ?? Slab(capacity: rounded)
  }

  /// Takes `slab` back.
  func giveBack(_ slab: Slab) {
    slab.used = 0
    slab.pieces = 0..<0
    slab.isRight.removeAll(keepingCapacity: true)
    state.withLock { state in
      if state.fetches > 0 { state.idle[slab.memory.count, default: []].append(slab) }
    }
  }

  /// Few different sizes, so that slabs fit again.
  static func rounded(_ capacity: Int) -> Int {
    let unit = 64 << 10
    return max(1, (capacity + unit - 1) / unit) * unit
  }
}
