/// How fast something goes and how long it will take, from bytes and instants; pure.
///
/// The rate is that of the last three seconds, so that three seconds after a change nothing of the
/// old rate is left. Bytes that come in lumps count from lump to lump; a lump that is late lowers
/// the rate only once it is later than any before.
package struct RateMeter: Sendable {
  private struct Sample {
    var instant: Double
    var total: Int64
  }

  private static let window = 3.0
  /// Nothing is said before this long.
  private static let patience = 0.5
  /// Samples that are closer are one, which bounds their number.
  private static let grain = 0.05

  /// The oldest is the last one before the window, so that the window is covered.
  private var samples: [Sample]

  /// Begins at `now`, in seconds of uptime, with `total` bytes that are there already.
  package init(total: Int64 = 0, at now: Double) { samples = [Sample(instant: now, total: total)] }

  /// Takes note that `total` bytes are there at `now`; neither goes back.
  package mutating func advance(to total: Int64, at now: Double) {
    guard let last = samples.last, total > last.total, now >= last.instant else { return }
    if samples.count > 1, now - samples[samples.count - 2].instant < Self.grain {
      samples.removeLast()
    }
    samples.append(Sample(instant: now, total: total))
    while samples.count > 2, samples[1].instant <= now - Self.window { samples.removeFirst() }
  }

  /// Bytes a second at `now`; nil until it is known, and when nothing comes any more.
  package func rate(at now: Double) -> Double? {
    guard let first = samples.first, let last = samples.last, samples.count > 1 else { return nil }
    let gaps = zip(samples.dropFirst(), samples).map { $0.instant - $1.instant }
    // A silence that is longer than any gap counts as time without bytes.
    let silence = max(0, now - last.instant - (gaps.max() ?? 0))
    let elapsed = last.instant - first.instant + silence
    guard elapsed >= Self.patience else { return nil }
    let rate = Double(last.total - first.total) / elapsed
    // Below one byte a second a time would be a guess.
    return rate >= 1 ? rate : nil
  }
}
