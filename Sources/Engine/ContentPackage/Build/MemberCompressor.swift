import ContentModel
import Dispatch
import Concurrency

/// Packs members on several threads and hands them over in the order in which they were given.
///
/// A ring of slots: the caller fills one, a worker packs it, and another thread hands its packed
/// bytes over before it is filled again. So memory is bounded, what comes out does not depend on
/// how many workers there are, and the caller reads while earlier members are hashed and written.
/// For one thread.
final class MemberCompressor {
  /// Plain bytes of a member at most.
  static let capacity = 320 << 10
  // A quarter less time than level 6 for 0.3 % of the benchmark's package, 1 % of source code.
  private static let level: Int32 = 5

  private let slots: [Slot]
  private let packing = Board()
  private let handover: Handover
  private let workers: WorkerThreads
  private let emitter: WorkerThreads
  private var current = 0
  private var isHeld = false

  /// `emit` gets each member's packed bytes, on one thread of its own until `finish` returns.
  init(
    workers count: Int, emit: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    // Two a worker and one for who fills: one is packed while the next waits or is handed over.
    let slots = (0..<(2 * count + 1)).map { _ in Slot() }
    let (packing, handover) = (packing, Handover(emit))
    emitter = try WorkerThreads(count: 1) { _ in handover.run(slots) }
    do {
      workers = try WorkerThreads(count: count) { _ in Self.pack(slots, packing) }
    } catch {
      handover.order.close()
      throw error
    }
    self.slots = slots
    self.handover = handover
  }

  deinit { join() }

  /// The empty slot's room; throws what `emit` threw.
  func room() throws -> UnsafeMutableRawBufferPointer {
    if !isHeld { slots[current].isFree.wait() }
    isHeld = true
    try handover.check()
    return slots[current].plain
  }

  /// Gives the first `count` plain bytes of `room` to a worker.
  func submit(_ count: Int) {
    slots[current].plainCount = count
    isHeld = false
    packing.add(current)
    handover.order.add(current)
    current = (current + 1) % slots.count
  }

  /// Hands over everything that was given; nothing can be given any more.
  func finish() throws {
    join()
    try handover.check()
  }

  private func join() {
    packing.close()
    handover.order.close()
    workers.join()
    emitter.join()
  }

  private static func pack(_ slots: [Slot], _ packing: Board) {
    let packer = try? MemberPacker(level: level)
    while let number = packing.next() {
      let slot = slots[number]
      // 0 without memory, which the emitter reports.
      slot.packedCount = packer?.pack(slot.plain[..<slot.plainCount], into: slot.packed) ?? 0
      slot.isPacked.signal()
    }
  }

  /// Hands packed members over in their order, until one cannot be.
  private final class Handover: Sendable {
    /// Slots in the order in which they were given.
    let order = Board()
    private let emit: @Sendable (UnsafeRawBufferPointer) throws -> Void
    private let failure = Mutex((any Error)?.none)

    init(_ emit: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) { self.emit = emit }

    func run(_ slots: [Slot]) {
      var hasFailed = false
      while let number = order.next() {
        let slot = slots[number]
        slot.isPacked.wait()
        // After a failure the ring goes on turning, so that nobody waits for ever.
        if !hasFailed {
          do {
            try emit(slot)
          } catch {
            hasFailed = true
            failure.withLock { $0 = error }
          }
        }
        slot.isFree.signal()
      }
    }

    private func emit(_ slot: Slot) throws {
      guard slot.packedCount > 0 else { throw ContentError.outOfMemory("libdeflate") }
      try emit(UnsafeRawBufferPointer(rebasing: slot.packed[..<slot.packedCount]))
    }

    /// Throws what could not be handed over.
    func check() throws {
      if let error = failure.withLock({ $0 }) { throw error }
    }
  }

  /// One member's buffers: the caller's while `isFree` was taken, then a worker's until it signals
  /// `isPacked`, then the emitter's.
  ///
  /// Unchecked, because these semaphores hand the buffers on.
  private final class Slot: @unchecked Sendable {
    let plain = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MemberCompressor.capacity, alignment: 64)
    let packed = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MemberCompressor.capacity + (4 << 10), alignment: 64)
    let isFree = DispatchSemaphore(value: 0)
    let isPacked = DispatchSemaphore(value: 0)
    var plainCount = 0
    var packedCount = 0

    // Signalled here, since a semaphore may not end with a lower value than it began with.
    init() { isFree.signal() }

    deinit {
      plain.deallocate()
      packed.deallocate()
    }
  }

  /// The numbers of slots that wait for a thread.
  private final class Board: Sendable {
    private let waiting = Mutex((numbers: [Int](), isClosed: false))
    private let signal = DispatchSemaphore(value: 0)

    func add(_ number: Int) {
      waiting.withLock { $0.numbers.append(number) }
      signal.signal()
    }

    func close() {
      waiting.withLock { $0.isClosed = true }
      signal.signal()
    }

    /// The next number; waits for it, nil when there will be none.
    func next() -> Int? {
      signal.wait()
      let number = waiting.withLock { $0.numbers.isEmpty ? nil : $0.numbers.removeFirst() }
      // The others must hear of the end, too.
      if number == nil { signal.signal() }
      return number
    }
  }
}

/// Makes gzip members with libdeflate; one a thread.
///
/// Source: RFC 1952 §2.3. libdeflate writes no time, and stores blocks that do not shrink.
private final class MemberPacker {
  private static let sampleLength = 8 << 10

  private let compressor: Compressor
  private let storer: Compressor
  private let sampler: Compressor
  private let sample = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 64)

  /// Throws `outOfMemory`.
  init(level: Int32) throws {
    do {
      compressor = try Compressor(level: level)
      storer = try Compressor(level: 0)
      sampler = try Compressor(level: 1)
    } catch {
      sample.deallocate()
      throw error
    }
  }

  deinit { sample.deallocate() }

  /// Packs `plain` into `packed`; returns the packed length.
  func pack(
    _ plain: Slice<UnsafeMutableRawBufferPointer>, into packed: UnsafeMutableRawBufferPointer
  ) -> Int {
    let plain = UnsafeRawBufferPointer(rebasing: plain)
    return isIncompressible(plain)
      ? storer.compressMember(plain, into: packed) : compressor.compressMember(plain, into: packed)
  }

  /// Whether neither the middle nor the end shrinks even a little, which saves looking at the rest.
  private func isIncompressible(_ plain: UnsafeRawBufferPointer) -> Bool {
    let length = Self.sampleLength
    guard plain.count >= 4 * length else { return false }
    return [plain.count / 2, plain.count - length].allSatisfy { start in
      let count = sampler.deflate(
        UnsafeRawBufferPointer(rebasing: plain[start..<(start + length)]), into: sample)
      return count == 0 || count >= length
    }
  }
}
