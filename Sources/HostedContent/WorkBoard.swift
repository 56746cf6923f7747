import ContentModel
import ContentTransfer
import Synchronization

/// One download's work as seen from outside its thread: how far it is, and whether it must stop.
///
/// Cheap to write for every piece; read ten times a second. May be used from any thread.
final class WorkBoard: Sendable {
  /// The handle on its transfers, which end when the work is stopped.
  let ticket = TransferTicket()
  private let state = Mutex(State())

  private struct State {
    var total: Int64 = 0
    var done: Int64 = 0
    var fetched: Int64 = 0
    var reused: Int64 = 0
    var isStopped = false
  }

  /// Says how much there is to move and write, and what is there from before, in bytes.
  func begin(total: Int64, reused: Int64) {
    state.withLock { state in
      state.total = total
      state.reused = reused
    }
  }

  /// Says that `bytes` more were fetched and verified; throws `stopped` when the work must end.
  func fetch(_ bytes: Int64) throws {
    state.withLock { $0.fetched += bytes }
    try advance(bytes)
  }

  /// Bytes of the archive that were fetched, and that were there from before.
  var archiveBytes: (fetched: Int64, reused: Int64) {
    state.withLock { ($0.fetched, $0.reused) }
  }

  /// Says that `bytes` more were moved or written; throws `stopped` when the work must end.
  func advance(_ bytes: Int64) throws {
    let isStopped = state.withLock {
      $0.done += bytes
      return $0.isStopped
    }
    if isStopped { throw Self.stopped }
  }

  /// Says that `bytes` more were written, by a thread that finishes what it has begun.
  func write(_ bytes: Int64) { state.withLock { $0.done += bytes } }

  /// Throws `stopped` when the work must end.
  func checkStopped() throws { try advance(0) }

  /// Makes the work end at its next look.
  func stop() {
    state.withLock { $0.isStopped = true }
    ticket.cancel()
  }

  /// Bytes to move and write, and how many were; nil before that is known.
  var work: (total: Int64, done: Int64)? {
    state.withLock { $0.total > 0 ? ($0.total, $0.done) : nil }
  }

  private static let stopped = ContentError(
    .stopped, "The download was stopped", remedy: "Start it again; what was fetched is kept")
}
