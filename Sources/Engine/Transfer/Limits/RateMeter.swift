/// Measures a transfer rate from byte counts and times.
///
/// Pure. The rate covers the last three seconds, so three seconds after a change, the old rate has
/// no effect. Bytes that arrive in bursts count from burst to burst. A late burst lowers the rate
/// only if the gap is longer than all previous gaps.
package struct RateMeter: Sendable {
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
  package init(total: Int64 = 0, at now: Double) { samples = [Sample(instant: now, total: total)] }

  /// Records that there are `total` bytes at `now`; lower values are ignored.
  package mutating func advance(to total: Int64, at now: Double) {
    guard let last = samples.last, total > last.total, now >= last.instant else { return }
    if samples.count > 1, now - samples[samples.count - 2].instant < Self.resolution {
      samples.removeLast()
    }
    samples.append(Sample(instant: now, total: total))
    while samples.count > 2, samples[1].instant <= now - Self.window { samples.removeFirst() }
  }

  /// Returns the bytes per second at `now`, or nil if it is not known yet, or if nothing arrives.
  package func rate(at now: Double) -> Double? {
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
