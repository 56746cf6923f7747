import HostedConcurrency

/// Starts writing to disk while more data arrive, so that the final sync takes less time.
///
/// Runs on a separate thread after each `stretch` of bytes. Writing many files at once takes half
/// the processor time of writing each file alone.
final class WritebackThread: Sendable {
  /// The bytes between two writes; they take the disk long enough for more to arrive meanwhile.
  static let stretch: Int64 = 32 << 20

  private let bytes = Atomic<Int64>(0)
  /// An element if a write is due; at most one waits while another write runs.
  private let due = BlockingQueue<Void>()
  private let closed = Atomic(false)

  func note(_ bytes: Int64) {
    let (before, after) = self.bytes.wrappingAdd(bytes, ordering: .relaxed)
    if after / Self.stretch > before / Self.stretch { due.add((), if: { $0.isEmpty }) }
  }

  var isClosed: Bool { closed.load(ordering: .relaxed) }

  /// Calls `body` each time enough bytes were written, until `close`.
  func run(_ body: () -> Void) {
    while due.next() != nil, !isClosed { body() }
  }

  /// Ends `run`; call it after the last write.
  func close() {
    closed.store(true, ordering: .relaxed)
    due.close()
  }
}
