import HostedConcurrency

/// Measures the mirrors of one file, and decides when to leave a slow one; pure.
struct MirrorPace {
  /// The minimum duration of a measurement, in seconds.
  static let window = 3.0
  /// A mirror is only left if the rest would take longer than this, in seconds.
  static let longRest = 10.0
  /// How many times faster a mirror with a known rate must be.
  static let gain = 2.0

  private struct Mirror {
    var since: Double?
    var bytes: Int64 = 0
    /// Bytes per second, or nil if not known.
    var rate: Double?
    var isSlow = false
  }

  private var mirrors: [Mirror]

  /// Starts with the rates that transfers of other files have measured.
  init(rates: [Double?]) {
    let best = rates.compactMap(\.self).max() ?? 0
    mirrors = rates.map { Mirror(rate: $0, isSlow: $0.map { $0 * Self.gain < best } ?? false) }
  }

  /// Whether `mirror` is slow, so that others are preferred.
  func isSlow(_ mirror: Int) -> Bool { mirrors[mirror].isSlow }

  /// Counts verified bytes, and returns the rate in bytes per second at the end of a measurement.
  mutating func count(_ bytes: Int64, from mirror: Int, at now: Double) -> Double? {
    guard let since = mirrors[mirror].since else {
      mirrors[mirror].since = now
      return nil
    }
    mirrors[mirror].bytes += bytes
    guard now - since >= Self.window else { return nil }
    let rate = Double(mirrors[mirror].bytes) / (now - since)
    mirrors[mirror].rate = rate
    (mirrors[mirror].since, mirrors[mirror].bytes) = (now, 0)
    return rate
  }

  /// Returns the rates of replacement mirrors without a complete measurement.
  ///
  /// In bytes per second, at the end of the fetch.
  func lastRates(at now: Double) -> [(mirror: Int, rate: Double)] {
    guard mirrors.contains(where: \.isSlow) else { return [] }
    return mirrors.indices.compactMap { index in
      let mirror = mirrors[index]
      guard let since = mirror.since, mirror.rate == nil, mirror.bytes > 0, now > since else {
        return nil
      }
      return (index, Double(mirror.bytes) / (now - since))
    }
  }

  /// Returns the mirror in `others` that replaces `mirror`, which was just measured.
  ///
  /// Nil if it stays. A mirror without a known rate is tried before one that is known to be faster.
  mutating func leave(_ mirror: Int, for others: [Int], bytesLeft: Int64, at now: Double) -> Int? {
    guard let rate = mirrors[mirror].rate, Double(bytesLeft) > rate * Self.longRest else {
      return nil
    }
    let next =
      others.first { mirrors[$0].rate == nil }
      ?? others.filter { (mirrors[$0].rate ?? 0) > rate * Self.gain }
      .max { (mirrors[$0].rate ?? 0) < (mirrors[$1].rate ?? 0) }
    guard let next else { return nil }
    mirrors[mirror].isSlow = true
    mirrors[mirror].since = nil
    mirrors[next].isSlow = false
    // Start measuring now, to detect soon if the mirror sends hardly anything.
    (mirrors[next].since, mirrors[next].bytes) = (now, 0)
    return next
  }
}

/// Recently measured rates of hosts, shared by all transfers of a session.
final class HostRates: Sendable {
  /// The seconds after which a rate is measured again.
  private static let lifetime = 300.0

  private let rates = Mutex<[String: (rate: Double, measuredAt: Double)]>([:])

  /// Records the rate of `origin`, in bytes per second.
  func note(_ rate: Double, of origin: String, at now: Double) {
    rates.withLock { $0[origin] = (rate, now) }
  }

  /// Returns the rates of `origins`, or nil for an origin without a recent rate.
  func rates(of origins: [String], at now: Double) -> [Double?] {
    rates.withLock { rates in
      origins.map { origin in
        rates[origin].flatMap { now - $0.measuredAt < Self.lifetime ? $0.rate : nil }
      }
    }
  }
}
