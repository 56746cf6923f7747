import Dispatch
import Concurrency

/// A stream that a thread of its own reads, a few pieces ahead of whoever takes them.
///
/// So one processor reads a payload and computes its checksum, or decodes it, while another one
/// takes apart what it has. For one thread, and nobody else may read the inner stream before this
/// one's end.
final class ReadAheadStream: ByteStream {
  private let ring: Ring
  private let thread: WorkerThreads
  private var isHolding = false
  /// The last answer, once there is nothing more to come.
  private var end: Result<UnsafeRawBufferPointer, any Error>?

  /// `inner` read ahead; itself where no thread is to be had.
  static func ifPossible(_ inner: any ByteStream) -> any ByteStream {
    (try? ReadAheadStream(inner)) ?? inner
  }

  /// Begins to read; throws when no thread is to be had.
  init(_ inner: any ByteStream) throws {
    let ring = Ring(inner)
    self.ring = ring
    thread = try WorkerThreads(count: 1) { _ in ring.fill() }
  }

  deinit {
    ring.stop()
    thread.join()
  }

  func next() throws -> UnsafeRawBufferPointer {
    if let end { return try end.get() }
    if isHolding { ring.giveBack() }
    isHolding = true
    do {
      let bytes = try ring.take()
      if bytes.isEmpty { end = .success(bytes) }
      return bytes
    } catch {
      end = .failure(error)
      throw error
    }
  }
}

/// Buffers that go around between the thread that fills them and the one that takes them.
///
/// Unchecked, because each slot and what counts them belong to one side at a time, as the
/// semaphores hand them on.
private final class Ring: @unchecked Sendable {
  private final class Slot {
    var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
    var content: Result<Int, any Error> = .success(0)

    deinit { memory.deallocate() }
  }

  private let inner: any ByteStream
  private let slots = (0..<4).map { _ in Slot() }
  private let free = DispatchSemaphore(value: 0)
  private let ready = DispatchSemaphore(value: 0)
  private let isStopped = Atomic(false)
  private var taken = 0

  init(_ inner: any ByteStream) {
    self.inner = inner
    for _ in slots { free.signal() }
  }

  // MARK: For the thread that reads

  func fill() {
    for number in 0... {
      free.wait()
      guard !isStopped.load(ordering: .relaxed) else { return }
      let slot = slots[number % slots.count]
      slot.content = Result { try copyNext(to: slot) }
      ready.signal()
      guard case .success(1...) = slot.content else { return }
    }
  }

  private func copyNext(to slot: Slot) throws -> Int {
    let bytes = try inner.next()
    if bytes.count > slot.memory.count {
      slot.memory.deallocate()
      slot.memory = .allocate(byteCount: bytes.count, alignment: 64)
    }
    slot.memory.copyMemory(from: bytes)
    return bytes.count
  }

  // MARK: For the thread that takes

  func take() throws -> UnsafeRawBufferPointer {
    ready.wait()
    let slot = slots[taken % slots.count]
    taken += 1
    return UnsafeRawBufferPointer(rebasing: slot.memory[..<(try slot.content.get())])
  }

  func giveBack() { free.signal() }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    free.signal()
  }
}
