import Concurrency

/// The rates of one file's mirrors, and when a slow one is left for another; pure, time is handed
/// in.
struct MirrorPace {
  /// A rate is measured over so many seconds at least.
  static let window = 3.0
  /// A mirror is left only if the rest would take so many seconds more.
  static let longRest = 10.0
  /// A mirror whose rate is known must be so many times as fast.
  static let gain = 2.0

  private struct Mirror {
    var since: Double?
    var bytes: Int64 = 0
    /// Bytes a second; nil while unknown.
    var rate: Double?
    var isLeft = false
  }

  private var mirrors: [Mirror]

  /// Starts with what other files' transfers have measured.
  init(rates: [Double?]) {
    let best = rates.compactMap(\.self).max() ?? 0
    mirrors = rates.map { Mirror(rate: $0, isLeft: $0.map { $0 * Self.gain < best } ?? false) }
  }

  /// Whether `mirror` is slow, so that the others come before it.
  func isLeft(_ mirror: Int) -> Bool { mirrors[mirror].isLeft }

  /// Counts verified bytes; returns the rate in bytes a second when a measurement ends.
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

  /// The rates, in bytes a second, of mirrors that took the place of others and were not measured
  /// for a whole window when all bytes were there.
  func lastRates(at now: Double) -> [(mirror: Int, rate: Double)] {
    guard mirrors.contains(where: \.isLeft) else { return [] }
    return mirrors.indices.compactMap { index in
      let mirror = mirrors[index]
      guard let since = mirror.since, mirror.rate == nil, mirror.bytes > 0, now > since else {
        return nil
      }
      return (index, Double(mirror.bytes) / (now - since))
    }
  }

  /// The mirror among `others` that takes the place of `mirror`, which has just been measured; nil
  /// if it stays.
  ///
  /// A mirror without a measured rate is tried before one that is known to be faster.
  mutating func leave(_ mirror: Int, for others: [Int], bytesLeft: Int64, at now: Double) -> Int? {
    guard let rate = mirrors[mirror].rate, Double(bytesLeft) > rate * Self.longRest else {
      return nil
    }
    let next =
      others.first { mirrors[$0].rate == nil }
      ?? others.filter { (mirrors[$0].rate ?? 0) > rate * Self.gain }
      .max { (mirrors[$0].rate ?? 0) < (mirrors[$1].rate ?? 0) }
    guard let next else { return nil }
    mirrors[mirror].isLeft = true
    mirrors[mirror].since = nil
    mirrors[next].isLeft = false
    // From here on, so that one that hardly sends anything is known soon.
    (mirrors[next].since, mirrors[next].bytes) = (now, 0)
    return next
  }
}

/// The rates of hosts that were measured lately; shared by all transfers of a session.
final class HostRates: Sendable {
  /// Seconds after which a rate is measured anew.
  private static let lifetime = 300.0

  private let rates = Mutex<[String: (rate: Double, measuredAt: Double)]>([:])

  /// Takes note of the rate of `origin`, in bytes a second.
  func note(_ rate: Double, of origin: String, at now: Double) {
    rates.withLock { $0[origin] = (rate, now) }
  }

  /// The rates of `origins`; nil where none was measured lately.
  func rates(of origins: [String], at now: Double) -> [Double?] {
    rates.withLock { rates in
      origins.map { origin in
        rates[origin].flatMap { now - $0.measuredAt < Self.lifetime ? $0.rate : nil }
      }
    }
  }
}
