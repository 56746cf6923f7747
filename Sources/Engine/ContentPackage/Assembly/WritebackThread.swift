import Dispatch
import Concurrency

/// Has the disk write while more arrives, so that the sync at the end has less to wait for.
///
/// On a thread of its own, whenever so much has been written since the last time: the system then
/// writes many files at once, which takes half of the processor time of handing it each alone.
final class WritebackThread: Sendable {
  /// Bytes between two times; a disk takes long enough to write them for others to arrive
  /// meanwhile.
  static let stretch: Int64 = 32 << 20

  private struct State {
    var bytes: Int64 = 0
    var isDue = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let ready = DispatchSemaphore(value: 0)

  /// Counts `bytes` that were written.
  func note(_ bytes: Int64) {
    let begins = state.withLock { state in
      state.bytes += bytes
      guard state.bytes >= Self.stretch, !state.isDue else { return false }
      state.bytes = 0
      state.isDue = true
      return true
    }
    if begins { ready.signal() }
  }

  /// Whether no more will be written.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Calls `body` whenever it is due, until `close`.
  func run(_ body: () -> Void) {
    while true {
      ready.wait()
      guard !isClosed else { return }
      body()
      state.withLock { $0.isDue = false }
    }
  }

  /// Says that no more will be written.
  func close() {
    state.withLock { $0.isClosed = true }
    ready.signal()
  }
}
