import HostedConcurrency

/// A stream that reads ahead on a separate thread.
///
/// One processor can read a payload and compute its checksum, or decode it, while another one
/// parses. Use it from one thread. Only this stream may read the inner stream until its end.
final class ReadAheadStream: ByteStream {
  /// The number of buffers between the two threads.
  private static let slotCount = 4

  private let free = BlockingQueue<Slot>()
  private let filled = BlockingQueue<Slot>()
  private let thread: WorkerThreads
  /// The slot whose bytes `next` has returned.
  private var current: Slot?

  /// Returns a read-ahead stream, or `inner` if a thread cannot be started.
  static func ifPossible(_ inner: any ByteStream) -> any ByteStream {
    (try? ReadAheadStream(inner)) ?? inner
  }

  /// Starts to read; throws if a thread cannot be started.
  init(_ inner: any ByteStream) throws {
    let (free, filled) = (free, filled)
    for _ in 0..<Self.slotCount { free.add(Slot(inner)) }
    thread = try WorkerThreads(count: 1) { _ in
      while let slot = free.next() {
        slot.fill()
        filled.add(slot)
        if slot.isLast { return }
      }
    }
  }

  deinit {
    free.close()
    // The thread fills no other slot.
    _ = free.takeAll()
    thread.join()
  }

  func next() throws -> UnsafeRawBufferPointer {
    if let current {
      // The thread has ended, so its last result is repeated.
      if current.isLast { return try current.bytes() }
      free.add(current)
    }
    current = filled.next()
    return try current?.bytes() ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }
}

/// A buffer that one of the two threads owns, and the result of filling it.
///
/// Unchecked, because the queues transfer the ownership, and only the reading thread uses `inner`.
private final class Slot: @unchecked Sendable {
  private let inner: any ByteStream
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
  private var count: Result<Int, any Error> = .success(0)

  init(_ inner: any ByteStream) { self.inner = inner }

  deinit { memory.deallocate() }

  /// Whether it has the end of the stream or an error.
  var isLast: Bool {
    if case .success(1...) = count { false } else { true }
  }

  func fill() {
    count = Result {
      let bytes = try inner.next()
      if bytes.count > memory.count {
        memory.deallocate()
        memory = .allocate(byteCount: bytes.count, alignment: 64)
      }
      memory.copyMemory(from: bytes)
      return bytes.count
    }
  }

  func bytes() throws -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[..<(try count.get())])
  }
}
