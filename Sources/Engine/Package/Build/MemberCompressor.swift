import HostedModel
import Dispatch
import HostedConcurrency

/// Compresses members on several threads, and emits them in the order in which they were given.
///
/// The caller fills a slot, a worker compresses it, and another thread emits the compressed bytes
/// before the slot is filled again. Memory is therefore bounded, and the output does not depend on
/// the number of workers. The caller reads while earlier members are hashed and written. Use it
/// from one thread.
final class MemberCompressor {
  /// The maximum number of uncompressed bytes in a member.
  static let capacity = 320 << 10
  // 25% less time than level 6. The benchmark's package is 0.3% larger, source code 1%.
  private static let level: Int32 = 5

  private let packing = BlockingQueue<Slot>()
  private let emission: Emission
  private let workers: WorkerThreads
  private let emitter: WorkerThreads
  private var current = Slot()

  /// Creates the threads; one of them calls `emit` for each compressed member until `finish`.
  init(
    workers count: Int, emit: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let (packing, emission) = (packing, Emission(emit))
    // Two per worker: one is compressed while the other waits or is emitted.
    for _ in 0..<(2 * count) { emission.free.add(Slot()) }
    emitter = try WorkerThreads(count: 1) { _ in emission.run() }
    do {
      workers = try WorkerThreads(count: count) { _ in Self.pack(packing) }
    } catch {
      emission.order.close()
      throw error
    }
    self.emission = emission
  }

  deinit { join() }

  /// Returns the buffer to fill; throws the error of `emit`, if any.
  func room() throws -> UnsafeMutableRawBufferPointer {
    try emission.check()
    return current.plain
  }

  /// Queues the first `count` bytes of `room` for compression, and waits for a free slot.
  func submit(_ count: Int) {
    current.plainCount = count
    packing.add(current)
    emission.order.add(current)
    current = emission.free.next() ?? Slot()
  }

  /// Waits until all members are emitted; do not call `submit` after it.
  func finish() throws {
    join()
    try emission.check()
  }

  private func join() {
    packing.close()
    emission.order.close()
    workers.join()
    emitter.join()
  }

  private static func pack(_ packing: BlockingQueue<Slot>) {
    let packer = try? MemberPacker(level: level)
    while let slot = packing.next() {
      // 0 if memory is exhausted. The emitter reports it.
      slot.packedCount = packer?.pack(slot.plain[..<slot.plainCount], into: slot.packed) ?? 0
      slot.isPacked.signal()
    }
  }

  /// Emits compressed members in order, until `emit` fails.
  private final class Emission: Sendable {
    /// The slots in the order in which they were submitted.
    let order = BlockingQueue<Slot>()
    let free = BlockingQueue<Slot>()
    private let emit: @Sendable (UnsafeRawBufferPointer) throws -> Void
    private let failure = Mutex((any Error)?.none)

    init(_ emit: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) { self.emit = emit }

    func run() {
      while let slot = order.next() {
        slot.isPacked.wait()
        // After an error, slots are still freed, so that no thread waits forever.
        do {
          try check()
          guard slot.packedCount > 0 else { throw ContentError.outOfMemory("libdeflate") }
          try emit(UnsafeRawBufferPointer(rebasing: slot.packed[..<slot.packedCount]))
        } catch {
          failure.withLock { $0 = error }
        }
        free.add(slot)
      }
    }

    /// Throws the error of `emit`, if any.
    func check() throws {
      if let error = failure.withLock({ $0 }) { throw error }
    }
  }

  /// The buffers of one member.
  ///
  /// They belong to the caller, then to a worker until `isPacked` is signaled, then to the emitter.
  /// Unchecked, because the queues and the semaphore transfer the ownership.
  private final class Slot: @unchecked Sendable {
    let plain = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MemberCompressor.capacity, alignment: 64)
    let packed = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MemberCompressor.capacity + (4 << 10), alignment: 64)
    let isPacked = DispatchSemaphore(value: 0)
    var plainCount = 0
    var packedCount = 0

    deinit {
      plain.deallocate()
      packed.deallocate()
    }
  }
}

/// Compresses gzip members with libdeflate.
///
/// Each thread uses its own. libdeflate writes no modification time, and stores blocks that do not
/// shrink. Source: RFC 1952 §2.3.
private final class MemberPacker {
  private static let sampleLength = 8 << 10

  private let compressor: Compressor
  private let storer: Compressor
  private let sampler: Compressor

  init(level: Int32) throws {
    compressor = try Compressor(level: level)
    storer = try Compressor(level: 0)
    sampler = try Compressor(level: 1)
  }

  func pack(
    _ plain: Slice<UnsafeMutableRawBufferPointer>, into packed: UnsafeMutableRawBufferPointer
  ) -> Int {
    let plain = UnsafeRawBufferPointer(rebasing: plain)
    return isIncompressible(plain, packed)
      ? storer.compressMember(plain, into: packed) : compressor.compressMember(plain, into: packed)
  }

  /// Whether samples of the middle and the end do not shrink; then the rest is not tried.
  ///
  /// Overwrites `scratch`.
  private func isIncompressible(
    _ plain: UnsafeRawBufferPointer, _ scratch: UnsafeMutableRawBufferPointer
  ) -> Bool {
    let length = Self.sampleLength
    guard plain.count >= 4 * length else { return false }
    return [plain.count / 2, plain.count - length].allSatisfy { start in
      let sample = UnsafeRawBufferPointer(rebasing: plain[start..<(start + length)])
      // Header and trailer of a member have 18 bytes.
      return sampler.compressMember(sample, into: scratch) >= length + 18
    }
  }
}
