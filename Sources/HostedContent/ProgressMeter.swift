import ContentTransfer

/// How far a download is, as its handle shows it.
struct DownloadProgress: Hashable, Sendable {
  /// 0 to 1.
  var fraction: Double
  /// Seconds; −1 while unknown.
  var timeRemaining: Double
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
  private var work: WorkBoard.Work
  private var fetching: RateMeter
  private var writing: RateMeter
  private var fraction = 0.0

  /// What is assumed of a disk that was not written to yet, in bytes a second.
  private static let assumedWriteRate = 200e6
  /// What may be on its way and not verified yet, in bytes; more is counted as lost.
  private static let largestUnverified: Int64 = 16 << 20

  /// Begins an attempt; `instant` is in seconds.
  init(_ work: WorkBoard.Work, at instant: Double) {
    self.work = work
    fetching = RateMeter(work.received, at: instant)
    writing = RateMeter(work.written, at: instant)
  }

  /// Takes note of how far the work was at `instant`; the fraction never goes back.
  mutating func advance(to work: WorkBoard.Work, at instant: Double) -> DownloadProgress {
    self.work = work
    fetching.advance(to: work.received, at: instant)
    writing.advance(to: work.written, at: instant)
    let total = work.toFetch + work.toWrite
    if total > 0 {
      fraction = max(fraction, min(1, Double(work.fetched + work.written) / Double(total)))
    }
    return DownloadProgress(fraction: fraction, timeRemaining: timeRemaining ?? -1)
  }

  private var timeRemaining: Double? {
    let onItsWay = min(max(0, work.received - work.fetched), Self.largestUnverified)
    let fetchTime = fetching.time(for: work.toFetch - work.fetched - onItsWay)
    let writeTime =
      writing.time(for: work.toWrite - work.written)
      ?? Double(work.toWrite - work.written) / Self.assumedWriteRate
    guard let fetchTime else { return nil }
    let isBoth = work.written > 0 && work.fetched < work.toFetch
    return isBoth ? max(fetchTime, writeTime) : fetchTime + writeTime
  }
}

/// A rate over the last seconds; pure, time is handed in.
///
/// A window rather than a decaying average: pieces come in bursts, and a burst counts the same
/// wherever in the window it is.
struct RateMeter {
  private struct Sample {
    let bytes: Int64
    let instant: Double
  }

  /// Oldest first; the first one is the window's beginning.
  private var samples: [Sample]

  /// How far back it looks, in seconds: 5 s after a change nothing older than the change counts.
  private static let window = 4.0
  /// Nothing is said about a rate before this much time, in seconds.
  private static let leastTime = 0.5
  /// Samples closer than this are one, in seconds.
  private static let spacing = 0.05

  init(_ bytes: Int64, at instant: Double) { samples = [Sample(bytes: bytes, instant: instant)] }

  mutating func advance(to bytes: Int64, at instant: Double) {
    // Time before the first byte is no part of the rate.
    if samples.count == 1, samples[0].bytes == bytes {
      samples[0] = Sample(bytes: bytes, instant: instant)
      return
    }
    if samples.count > 1, let last = samples.last, instant - last.instant < Self.spacing {
      samples.removeLast()
    }
    samples.append(Sample(bytes: bytes, instant: instant))
    while samples.count > 2, samples[1].instant <= instant - Self.window { samples.removeFirst() }
  }

  /// Bytes a second; nil while too little is known.
  private var rate: Double? {
    guard let first = samples.first, let last = samples.last,
      last.instant - first.instant >= Self.leastTime
    else { return nil }
    return Double(last.bytes - first.bytes) / (last.instant - first.instant)
  }

  /// Seconds for `bytes` at this rate; nil while that is unknown.
  func time(for bytes: Int64) -> Double? {
    guard bytes > 0 else { return 0 }
    // Below one byte a second a time would be a guess.
    return rate.flatMap { $0 >= 1 ? Double(bytes) / $0 : nil }
  }
}
