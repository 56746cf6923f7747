import HostedTransfer

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
    return DownloadProgress(
      fraction: fraction, timeRemaining: timeRemaining(of: work, at: instant))
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
      Self.time(for: toWrite, by: writing, at: instant)
      ?? Double(toWrite) / Self.assumedWriteRate
    let isBoth = work.written > 0 && work.fetched < work.toFetch
    return isBoth ? max(fetchTime, writeTime) : fetchTime + writeTime
  }
}
