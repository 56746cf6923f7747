import ContentTransfer

/// How far a download is, as its handle shows it.
struct DownloadProgress: Hashable, Sendable {
  /// 0 to 1.
  var fraction: Double
  /// In seconds; nil while it is unknown.
  var timeRemaining: Double?
  /// What is done.
  var activity = DownloadActivity(phase: .preparing)
  /// What its transfers did in this attempt.
  var statistics = TransferStatistics()
}

/// Turns bytes and instants into a fraction and a time remaining; pure, time is handed in.
///
/// Fetching and writing have a rate each, since one may be a hundred times the other's. Where both
/// go on at once the slower one counts, else their sum.
struct ProgressMeter {
  private var work: DownloadJob.Work
  /// Begun by the first byte: the time before it is no part of a rate.
  private var fetching: RateMeter?
  private var writing: RateMeter?
  private var fraction = 0.0

  /// What is assumed of a disk that was not written to yet, in bytes a second.
  private static let assumedWriteRate = 200e6
  /// What may be on its way and not verified yet, in bytes; more is counted as lost.
  private static let largestUnverified: Int64 = 16 << 20

  /// Begins an attempt.
  init(_ work: DownloadJob.Work) { self.work = work }

  /// Takes note of how far the work was at `instant`; the fraction never goes back.
  mutating func advance(to work: DownloadJob.Work, at instant: Double) -> DownloadProgress {
    self.work = work
    Self.advance(&fetching, to: work.received, at: instant)
    Self.advance(&writing, to: work.written, at: instant)
    let total = work.toFetch + work.toWrite
    if total > 0 {
      fraction = max(fraction, min(1, Double(work.fetched + work.written) / Double(total)))
    }
    return DownloadProgress(fraction: fraction, timeRemaining: timeRemaining(at: instant))
  }

  private static func advance(_ meter: inout RateMeter?, to bytes: Int64, at instant: Double) {
    if meter == nil, bytes > 0 { meter = RateMeter(total: bytes, at: instant) }
    meter?.advance(to: bytes, at: instant)
  }

  private static func time(for bytes: Int64, by meter: RateMeter?, at instant: Double) -> Double? {
    if bytes <= 0 { return 0 }
    return meter?.rate(at: instant).map { Double(bytes) / $0 }
  }

  private func timeRemaining(at instant: Double) -> Double? {
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
