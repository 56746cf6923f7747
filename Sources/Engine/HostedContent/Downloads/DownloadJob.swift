import HostedTransfer
import HostedConcurrency

/// The progress of one download, and the way to stop it from another thread.
///
/// Updates are cheap enough for every piece; progress is read ten times a second. May be used from
/// any thread.
final class DownloadJob: Sendable {
  /// The handle to its transfers, which end when the job is stopped.
  let ticket: TransferTicket
  private let state = Mutex(State())

  private struct State {
    var work: Work?
    var phase = DownloadPhase.preparing
  }

  /// The progress, in bytes.
  struct Work: Hashable, Sendable {
    /// What this attempt must fetch and write.
    var toFetch: Int64
    var toWrite: Int64
    /// What has been fetched and verified, and what has been written.
    var fetched: Int64 = 0
    var written: Int64 = 0
    /// Bytes received, verified or not; at least `fetched`.
    var received: Int64 = 0
  }

  /// The job also ends with any error that `isStopped` throws when it is called.
  init(priority: Int = 0, isStopped: @escaping @Sendable () throws -> Void = {}) {
    ticket = TransferTicket(priority: priority, isStopped: isStopped)
  }

  /// Sets how many bytes to fetch and to write, and how many are reused from earlier.
  func begin(fetch: Int64, write: Int64, reused: Int64) {
    state.withLock { $0.work = Work(toFetch: fetch, toWrite: write) }
    ticket.reuse(reused)
  }

  /// Sets the current phase.
  func enter(_ phase: DownloadPhase) { state.withLock { $0.phase = phase } }

  /// Adds `bytes` that were fetched and verified; throws `stopped` if the job must end.
  func fetch(_ bytes: Int64) throws {
    state.withLock { $0.work?.fetched += bytes }
    try checkStopped()
  }

  /// Adds `bytes` that were written; throws `stopped` if the job must end.
  func write(_ bytes: Int64) throws {
    state.withLock { $0.work?.written += bytes }
    try checkStopped()
  }

  /// Throws `stopped` if the job must end.
  func checkStopped() throws { try ticket.checkCancelled() }

  /// Whether the job must end.
  var isStopped: Bool { (try? checkStopped()) == nil }

  /// Makes the job end at its next check.
  func stop() { ticket.cancel() }

  /// Bytes of the archive that were fetched and verified.
  var bytesFetched: Int64 { state.withLock { $0.work?.fetched ?? 0 } }

  /// Bytes written to files.
  var bytesWritten: Int64 { state.withLock { $0.work?.written ?? 0 } }

  /// The progress; nil until the amount of work is known.
  var work: Work? {
    guard var work = state.withLock({ $0.work }) else { return nil }
    work.received = max(work.fetched, min(ticket.statistics.bytesReceived, work.toFetch))
    return work
  }

  /// The current phase, and the reason if the job is waiting.
  var activity: (phase: DownloadPhase, wait: TransferWait?) {
    if case .waiting(let wait) = ticket.status { return (.waiting, wait) }
    return (state.withLock { $0.phase }, nil)
  }
}
