import ContentModel
import ContentTransfer
import Concurrency

/// One download's work as seen from outside its thread: how far it is, and whether it must stop.
///
/// Cheap to write for every piece; read ten times a second. May be used from any thread.
final class DownloadJob: Sendable {
  /// The handle on its transfers, which end when the work is stopped.
  let ticket: TransferTicket
  private let isStopped: @Sendable () throws -> Void
  private let state = Mutex(State())

  private struct State {
    var work: Work?
    var phase = DownloadPhase.preparing
    var reused: Int64 = 0
    var isStopped = false
  }

  /// How far the work is, in bytes.
  struct Work: Hashable, Sendable {
    /// What is to be fetched and written in this attempt.
    var toFetch: Int64
    var toWrite: Int64
    /// What was fetched and verified, and what was written.
    var fetched: Int64 = 0
    var written: Int64 = 0
    /// Bytes that came in, verified or not yet; at least `fetched`.
    var received: Int64 = 0
  }

  /// The work ends also with what `isStopped` throws when it looks.
  init(priority: Int = 0, isStopped: @escaping @Sendable () throws -> Void = {}) {
    ticket = TransferTicket(priority: priority)
    self.isStopped = isStopped
  }

  /// Says how much there is to fetch and to write, and what is there from before, in bytes.
  func begin(fetch: Int64, write: Int64, reused: Int64) {
    state.withLock { state in
      state.work = Work(toFetch: fetch, toWrite: write)
      state.reused = reused
    }
    ticket.reuse(reused)
  }

  /// Says what is done from now on.
  func enter(_ phase: DownloadPhase) { state.withLock { $0.phase = phase } }

  /// Says that `bytes` more were fetched and verified; throws `stopped` when the work must end.
  func fetch(_ bytes: Int64) throws {
    try state.withLock { state in
      state.work?.fetched += bytes
      if state.isStopped { throw Self.stopped }
    }
    try isStopped()
  }

  /// Says that `bytes` more were written; throws `stopped` when the work must end.
  func write(_ bytes: Int64) throws {
    try state.withLock { state in
      state.work?.written += bytes
      if state.isStopped { throw Self.stopped }
    }
    try isStopped()
  }

  /// Throws `stopped` when the work must end.
  func checkStopped() throws { try write(0) }

  /// Makes the work end at its next look.
  func stop() {
    state.withLock { $0.isStopped = true }
    ticket.cancel()
  }

  /// Bytes of the archive that were fetched, and that were there from before.
  var archiveBytes: (fetched: Int64, reused: Int64) {
    state.withLock { ($0.work?.fetched ?? 0, $0.reused) }
  }

  /// Bytes of files that were written.
  var bytesWritten: Int64 { state.withLock { $0.work?.written ?? 0 } }

  /// How far it is; nil before that is known.
  var work: Work? {
    guard var work = state.withLock({ $0.work }) else { return nil }
    work.received = max(work.fetched, min(ticket.statistics.bytesReceived, work.toFetch))
    return work
  }

  /// What is done now, and why it waits if it does.
  var activity: DownloadActivity {
    let phase = state.withLock { $0.phase }
    if case .waiting(let wait) = ticket.status {
      return DownloadActivity(phase: .waiting, wait: wait)
    }
    return DownloadActivity(phase: phase)
  }

  private static let stopped = ContentError(
    .stopped, "The download was stopped", remedy: "Start it again; what was fetched is kept")
}
