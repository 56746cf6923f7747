import CDeflate
import ContentModel
import Dispatch
import Locks

/// Packs members on several threads and hands them over in the order in which they were given.
///
/// A ring of slots: the caller fills one, workers pack it, and before it is filled again its packed
/// bytes are handed over. So memory is bounded, and what comes out does not depend on how many
/// workers there are. For one thread.
final class MemberCompressor {
  /// Plain bytes of a member at most.
  static let capacity = 320 << 10
  // A quarter less time than level 6 for 0.3 % of the benchmark's package, 1 % of source code.
  private static let level: Int32 = 5
  // Data that a quick look finds incompressible are stored.
  private static let sampleLength = 8 << 10

  private let slots: [Slot]
  private let board: Board
  private let workers: WorkerThreads
  private let emit: (UnsafeRawBufferPointer) throws -> Void
  private var current = 0

  /// `emit` gets each member's packed bytes, on the caller's thread.
  init(workers count: Int, emit: @escaping (UnsafeRawBufferPointer) throws -> Void) throws {
    // Two a worker: one is packed while the next is filled or waits to be written.
    let slots = (0..<(2 * count + 1)).map { _ in Slot() }
    let board = Board()
    workers = try WorkerThreads(count: count) { _ in Self.work(slots, board) }
    self.slots = slots
    self.board = board
    self.emit = emit
  }

  deinit {
    board.close()
    workers.join()
  }

  /// The empty slot's room; what was packed in it before is handed over first.
  func room() throws -> UnsafeMutableRawBufferPointer {
    try emitPacked(slots[current])
    return slots[current].plain
  }

  /// Gives the slot's first `count` plain bytes to a worker.
  func submit(_ count: Int) {
    slots[current].plainCount = count
    slots[current].isPending = true
    board.add(current)
    current = (current + 1) % slots.count
  }

  /// Hands over everything that was given.
  func finish() throws {
    for step in slots.indices { try emitPacked(slots[(current + step) % slots.count]) }
  }

  private func emitPacked(_ slot: Slot) throws {
    guard slot.isPending else { return }
    slot.done.wait()
    slot.isPending = false
    guard slot.packedCount > 0 else {
      throw ContentError(
        .inconsistent, "libdeflate has no memory", remedy: "Free memory and start again")
    }
    try emit(UnsafeRawBufferPointer(rebasing: slot.packed[..<slot.packedCount]))
  }

  private static func work(_ slots: [Slot], _ board: Board) {
    let packer = MemberPacker(level: level)
    while let number = board.next() {
      let slot = slots[number]
      slot.packedCount = packer.pack(slot.plain[..<slot.plainCount], into: slot.packed)
      slot.done.signal()
    }
  }

  /// One member's buffers: the caller's until it is submitted, then a worker's until it signals
  /// `done`.
  private final class Slot: @unchecked Sendable {
    let plain = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MemberCompressor.capacity, alignment: 64)
    let packed = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MemberCompressor.capacity + (4 << 10), alignment: 64)
    let done = DispatchSemaphore(value: 0)
    var plainCount = 0
    var packedCount = 0
    var isPending = false

    deinit {
      plain.deallocate()
      packed.deallocate()
    }
  }

  /// The numbers of slots that wait for a worker.
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

  private let compressor: OpaquePointer?
  private let storer: OpaquePointer?
  private let sampler: OpaquePointer?
  private let sample = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 64)

  init(level: Int32) {
    compressor = libdeflate_alloc_compressor(level)
    storer = libdeflate_alloc_compressor(0)
    sampler = libdeflate_alloc_compressor(1)
  }

  deinit {
    libdeflate_free_compressor(compressor)
    libdeflate_free_compressor(storer)
    libdeflate_free_compressor(sampler)
    sample.deallocate()
  }

  /// Packs `plain` into `packed`; how many bytes it became, 0 without memory.
  func pack(
    _ plain: Slice<UnsafeMutableRawBufferPointer>, into packed: UnsafeMutableRawBufferPointer
  )
    -> Int
  {
    guard let compressor, let storer, sampler != nil else { return 0 }
    let plain = UnsafeMutableRawBufferPointer(rebasing: plain)
    return libdeflate_gzip_compress(
      isIncompressible(plain) ? storer : compressor, plain.baseAddress, plain.count,
      packed.baseAddress, packed.count)
  }

  /// Whether neither the middle nor the end shrinks even a little, which saves looking at the rest.
  private func isIncompressible(_ plain: UnsafeMutableRawBufferPointer) -> Bool {
    let length = Self.sampleLength
    guard plain.count >= 4 * length else { return false }
    return [plain.count / 2, plain.count - length].allSatisfy { start in
      let count = libdeflate_deflate_compress(
        sampler, plain.baseAddress.map { $0 + start }, length, sample.baseAddress, sample.count)
      return count == 0 || count >= length
    }
  }
}
