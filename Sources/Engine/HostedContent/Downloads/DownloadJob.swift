import HostedConcurrency
import HostedTransfer

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

  var isStopped: Bool { (try? checkStopped()) == nil }

  /// Makes the job end at its next check.
  func stop() { ticket.cancel() }

  /// Bytes of the archive that were fetched and verified.
  var bytesFetched: Int64 { state.withLock { $0.work?.fetched ?? 0 } }

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

/// The progress of a download, as shown by its handle.
struct DownloadProgress: Hashable, Sendable {
  /// 0 to 1.
  var fraction: Double
  /// In seconds; nil if unknown.
  var timeRemaining: Double?
  var phase = DownloadPhase.preparing
  /// The reason if the phase is `waiting`.
  var wait: TransferWait?
  /// Statistics of its transfers in this attempt.
  var statistics = TransferStatistics()
}

/// Computes progress and remaining time from byte counts; pure: the caller passes the time.
///
/// Fetching and writing have separate rates, because one may be a hundred times faster. While both
/// run at once, the slower one counts; otherwise the times are added.
struct ProgressMeter {
  /// Starts at the first byte, because the time before would lower the rate.
  private var fetching: RateMeter?
  private var writing: RateMeter?
  private var fraction = 0.0

  /// The assumed write rate before the first write, in bytes per second.
  private static let assumedWriteRate = 200e6
  /// The maximum of received but unverified bytes; more is considered lost.
  private static let largestUnverified: Int64 = 16 << 20

  /// Updates the progress at `instant`; the fraction never decreases.
  mutating func advance(to work: DownloadJob.Work, at instant: Double) -> DownloadProgress {
    Self.advance(&fetching, to: work.received, at: instant)
    Self.advance(&writing, to: work.written, at: instant)
    let total = work.toFetch + work.toWrite
    if total > 0 {
      fraction = max(fraction, min(1, Double(work.fetched + work.written) / Double(total)))
    }
    return DownloadProgress(fraction: fraction, timeRemaining: timeRemaining(of: work, at: instant))
  }

  private static func advance(_ meter: inout RateMeter?, to bytes: Int64, at instant: Double) {
    if meter == nil, bytes > 0 { meter = RateMeter(total: bytes, at: instant) }
    meter?.advance(to: bytes, at: instant)
  }

  private static func time(for bytes: Int64, by meter: RateMeter?, at instant: Double) -> Double? {
    if bytes <= 0 { return 0 }
    return meter?.rate(at: instant).map { Double(bytes) / $0 }
  }

  private func timeRemaining(of work: DownloadJob.Work, at instant: Double) -> Double? {
    let onItsWay = min(max(0, work.received - work.fetched), Self.largestUnverified)
    let toFetch = work.toFetch - work.fetched - onItsWay
    guard let fetchTime = Self.time(for: toFetch, by: fetching, at: instant) else { return nil }
    let toWrite = work.toWrite - work.written
    let writeTime =
      Self.time(for: toWrite, by: writing, at: instant) ?? Double(toWrite) / Self.assumedWriteRate
    let isBoth = work.written > 0 && work.fetched < work.toFetch
    return isBoth ? max(fetchTime, writeTime) : fetchTime + writeTime
  }
}

/// Measures a transfer rate from byte counts and times.
///
/// Pure. The rate covers the last three seconds, so three seconds after a change, the old rate has
/// no effect. Bytes that arrive in bursts count from burst to burst. A late burst lowers the rate
/// only if the gap is longer than all previous gaps.
struct RateMeter: Sendable {
  private struct Sample {
    var instant: Double
    var total: Int64
  }

  private static let window = 3.0
  /// The minimum time in seconds before a rate is known.
  private static let minimumTime = 0.5
  /// The minimum distance of samples in seconds, which limits their number.
  private static let resolution = 0.05

  /// Samples in order; the first one is the last before the window, to cover the whole window.
  private var samples: [Sample]

  /// Starts at `now`, in seconds of uptime, with `total` bytes that already exist.
  init(total: Int64 = 0, at now: Double) { samples = [Sample(instant: now, total: total)] }

  /// Records that there are `total` bytes at `now`; lower values are ignored.
  mutating func advance(to total: Int64, at now: Double) {
    guard let last = samples.last, total > last.total, now >= last.instant else { return }
    if samples.count > 1, now - samples[samples.count - 2].instant < Self.resolution {
      samples.removeLast()
    }
    samples.append(Sample(instant: now, total: total))
    while samples.count > 2, samples[1].instant <= now - Self.window { samples.removeFirst() }
  }

  /// Returns the bytes per second at `now`, or nil if it is not known yet, or if nothing arrives.
  func rate(at now: Double) -> Double? {
    guard let first = samples.first, let last = samples.last, samples.count > 1 else { return nil }
    let gaps = zip(samples.dropFirst(), samples).map { $0.instant - $1.instant }
    // A gap that is longer than all previous ones counts as time without bytes.
    let silence = max(0, now - last.instant - (gaps.max() ?? 0))
    let elapsed = last.instant - first.instant + silence
    guard elapsed >= Self.minimumTime else { return nil }
    let rate = Double(last.total - first.total) / elapsed
    // Below one byte per second, an estimate would be a guess.
    return rate >= 1 ? rate : nil
  }
}
