import HostedConcurrency

/// A buffer of complete pieces, which the loop passes to a worker.
///
/// Unchecked, because one side uses it at a time: the loop while it is filled, then the worker. The
/// lock of the handover orders the two.
final class Slab: @unchecked Sendable {
  let memory: UnsafeMutableRawBufferPointer
  /// The pieces in it, by their index in the request.
  var pieces: Range<Int> = 0..<0
  /// Whether each piece matches its digest, or nil if the worker has to verify it.
  var isValid: [Bool?] = []
  /// The total bytes of those pieces.
  var used = 0

  init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 4096) }

  deinit { memory.deallocate() }
}

/// A slab whose pieces are lent; it is returned on the thread that releases the last one.
final class SlabLoan: Sendable {
  let slab: Slab
  private let giveBack: @Sendable (Slab) -> Void

  init(_ slab: Slab, giveBack: @escaping @Sendable (Slab) -> Void) {
    self.slab = slab
    self.giveBack = giveBack
  }

  deinit { giveBack(slab) }
}

/// Idle slabs, because new memory costs a page fault per 4 KiB, and threads that map memory at the
/// same time wait for each other.
///
/// A fetch has a pool. When it ends, the pool of its session takes some of its slabs.
final class SlabPool: Sendable {
  private struct Idle {
    var slabs: [Int: [Slab]] = [:]
    var bytes = 0

    mutating func take(capacity: Int) -> Slab? {
      guard let slab = slabs[capacity]?.popLast() else { return nil }
      bytes -= capacity
      return slab
    }

    mutating func add(_ slab: Slab, limit: Int) {
      guard bytes + slab.memory.count <= limit else { return }
      bytes += slab.memory.count
      slabs[slab.memory.count, default: []].append(slab)
    }
  }

  private let idle = Mutex(Idle())
  private let session: SlabPool?
  private let limit: Int

  /// The capacity in bytes above which slabs are not kept, because other fetches need the memory.
  private static let maximumKept = 4 << 20

  /// Creates the pool of a fetch in a session, or a pool that keeps up to `limit` bytes.
  init(of session: SlabPool? = nil, limit: Int = .max) {
    self.session = session
    self.limit = limit
  }

  deinit {
    guard let session else { return }
    for slab in idle.withLock({ Array($0.slabs.values.joined()) }) { session.giveBack(slab) }
  }

  /// Returns a slab of at least `capacity` bytes.
  func take(capacity: Int) -> Slab {
    let rounded = Self.rounded(capacity)
    return idle.withLock { $0.take(capacity: rounded) }
      ?? session?.idle.withLock { $0.take(capacity: rounded) } ?? Slab(capacity: rounded)
  }

  /// Takes `slab` back for reuse.
  func giveBack(_ slab: Slab) {
    guard slab.memory.count <= Self.maximumKept else { return }
    slab.used = 0
    slab.pieces = 0..<0
    slab.isValid.removeAll(keepingCapacity: true)
    idle.withLock { $0.add(slab, limit: limit) }
  }

  /// Rounds a capacity up to one of a few sizes, so that slabs can be reused.
  static func rounded(_ capacity: Int) -> Int {
    let unit = 64 << 10
    return max(1, (capacity + unit - 1) / unit) * unit
  }
}

/// The memory limit of one request; pure.
struct SlabSizes: Hashable {
  /// The bytes of each slab.
  let length: Int
  /// The number of slabs: one is filled while others are hashed, decoded and written.
  let count: Int

  /// Less would cost more wake-ups, and more would lose more bytes when the process dies.
  private static let usual = 128 << 10

  /// Returns the sizes for `pieces`: slabs of 128 KiB, less for few bytes, more for long pieces.
  ///
  /// A request that replaces several has the memory of all of them.
  init(for pieces: some Sequence<Piece>, insteadOf requests: Int = 1) {
    var longest = 1
    var total = 0
    for piece in pieces {
      longest = max(longest, piece.length)
      total += piece.length
    }
    length = SlabPool.rounded(max(longest, min(Self.usual, total)))
    count = total <= length ? 1 : 3 * requests
  }

  /// The total number of bytes.
  var memory: Int { length * count }
}
