import Dispatch
import Concurrency

/// A stream that reads ahead on a separate thread.
///
/// One processor can read a payload and compute its checksum, or decode it, while another one
/// parses. Use it from one thread. Only this stream may read the inner stream until its end.
final class ReadAheadStream: ByteStream {
  private let ring: Ring
  private let thread: WorkerThreads
  private var isHolding = false
  /// The result that `next` repeats after the end.
  private var end: Result<UnsafeRawBufferPointer, any Error>?

  /// Returns a read-ahead stream, or `inner` if a thread cannot be started.
  static func ifPossible(_ inner: any ByteStream) -> any ByteStream {
    (try? ReadAheadStream(inner)) ?? inner
  }

  /// Starts to read; throws if a thread cannot be started.
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

/// A ring of buffers between the thread that fills them and the thread that takes them.
///
/// Unchecked, because only one side at a time uses a slot and its counter. The semaphores transfer
/// the ownership.
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

  // MARK: The reading thread

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

  // MARK: The taking thread

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
