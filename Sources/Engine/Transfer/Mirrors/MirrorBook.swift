import HostedHTTPValues
import HostedConcurrency

/// The state of one fetch per address of its file, in addition to the session's state per host.
///
/// Pure: callers pass the time and the state of the hosts, which are in the order of the addresses.
struct MirrorBook {
  private var mirrors: [Mirror]
  private(set) var pace: MirrorPace

  /// What the fetch has learned about one address.
  struct Mirror {
    /// Whether the server supports ranges.
    var ranges = true
    /// Whether `If-Range` is sent; not if servers behind one name have different validators.
    var usesValidator = true
    /// Whether the last fault may be due to the connection or the address of the host.
    ///
    /// The next request then needs a new connection and a new lookup of the address.
    var needsConnection = false
    private var strongValidator: String?
    /// The failures of requests for the file, except those of the host.
    var health = Health()
    /// The number of times in a row that it did not have the file or denied access.
    fileprivate var refusals = 0
    fileprivate var lastRefusal = -Double.infinity

    /// The value of `If-Range`, or nil if no strong validator is known.
    var validator: String? { usesValidator ? strongValidator : nil }

    /// Records the validator of the file.
    mutating func learn(_ head: HTTPHead) {
      strongValidator = Validator.strong(head)
      needsConnection = false
    }

    /// Whether it is not used any more.
    fileprivate var isExcluded: Bool { refusals >= MirrorBook.refusalLimit }
  }

  /// The refusals after which a mirror is not used any more.
  ///
  /// One refusal may be an accident, or the file may not have arrived there yet.
  private static let refusalLimit = 2

  /// Creates the state of mirrors with the `rates` that transfers of other files have measured.
  init(rates: [Double?]) {
    mirrors = rates.map { _ in Mirror() }
    pace = MirrorPace(rates: rates)
  }

  subscript(mirror: Int) -> Mirror {
    get { mirrors[mirror] }
    set { mirrors[mirror] = newValue }
  }

  /// Returns where the next request goes.
  func choose(_ hosts: [HostStatus], at now: Double) -> MirrorChoice {
    let open = open
    let candidates = open.map { index in
      let health = [mirrors[index].health, hosts[index].health]
      let pause = hosts[index].pause
      return MirrorChoice.Candidate(
        delays: (health.map(\.delay) + [pause?.delay(at: now)]).compactMap { $0 },
        failures: health.reduce(pause?.refusals ?? 0) { $0 + $1.failures },
        isSlow: pace.isSlow(index), ranges: mirrors[index].ranges)
    }
    var choice = MirrorChoice(among: candidates, at: now)
    choice.mirror = open[choice.mirror]
    return choice
  }

  /// The mirrors in use.
  var open: [Int] { mirrors.indices.filter { !mirrors[$0].isExcluded } }

  /// Returns the mirror for a second request when one at `mirror` is idle, or nil if none is free.
  ///
  /// Another mirror is preferred. A mirror that had a fault recently or refuses requests is not
  /// used.
  func second(
    besides mirror: Int, isWhole: Bool, _ hosts: [HostStatus], at now: Double
  ) -> Int? {
    let free = open.filter { index in
      let isBusy = hosts[index].pause != nil
      let isLate = [mirrors[index].health, hosts[index].health].contains {
        ($0.delay?.until ?? 0) > now
      }
      return !isBusy && !isLate && (isWhole || mirrors[index].ranges)
    }
    return free.first { $0 != mirror } ?? free.first
  }

  var allRefuse: Bool { mirrors.allSatisfy(\.isExcluded) }

  /// Records that a mirror does not have the file.
  ///
  /// Parallel requests count once.
  mutating func refuse(at mirror: Int, startedAt: Double, now: Double) {
    guard startedAt >= mirrors[mirror].lastRefusal else { return }
    mirrors[mirror].refusals += 1
    mirrors[mirror].lastRefusal = now
  }

  /// Counts verified bytes, and returns the rate in bytes per second at the end of a measurement.
  ///
  /// `isLeft` is true if `mirror` is so slow that another one is used. `bytesLeft` are the missing
  /// bytes of the whole fetch.
  mutating func count(
    _ bytes: Int64, from mirror: Int, bytesLeft: Int64, _ hosts: [HostStatus], at now: Double
  ) -> (rate: Double, isLeft: Bool)? {
    guard let rate = pace.count(bytes, from: mirror, at: now) else { return nil }
    let others = open.filter { other in
      other != mirror && mirrors[other].health.failures == 0 && hosts[other].health.failures == 0
    }
    let next = pace.leave(mirror, for: others, bytesLeft: bytesLeft, at: now)
    return (rate, next != nil)
  }

  mutating func succeed(at mirror: Int) {
    mirrors[mirror].refusals = 0
    mirrors[mirror].health = Health()
  }
}

/// What a session knows about a host; pure.
struct HostStatus: Sendable {
  /// The failures of requests that did not reach it.
  var health = Health()
  /// The pause if it has refused requests recently, or nil.
  var pause: HostPause?
  /// Whether one connection is enough for its full rate.
  var isNear = false

  /// Returns how many requests for one package run at once, and how many each replaces.
  func connections(_ limits: TransferLimits) -> (count: Int, insteadOf: Int) {
    let limit = TransferLimits.bounded(limits.connectionsPerTransfer)
    return isNear || pause != nil ? (1, limit) : (limit, 1)
  }

  /// Whether it has refused all requests since `start` for longer than the busy timeout.
  func isBusyTooLong(since start: Double, at now: Double, _ retry: RetryPolicy) -> Bool {
    now - max(start, pause?.refusedSince ?? now) >= retry.busyTimeout
  }
}

/// The address of the next request, and its earliest start; pure.
struct MirrorChoice: Hashable {
  /// The index of the address in the list.
  var mirror: Int
  /// The uptime before which the request must not start.
  let notBefore: Double
  /// The reason for `notBefore`, or nil if the request may start now.
  let fault: TransferFault?

  /// The state of one address.
  struct Candidate {
    /// The delays after failed requests for this file, to its host, and after a refusal.
    var delays: [(until: Double, fault: TransferFault)] = []
    /// The total number of failures in a row.
    var failures = 0
    /// Whether another mirror is much faster.
    var isSlow = false
    var ranges = true

    /// The latest delay.
    var delay: (until: Double, fault: TransferFault)? { delays.max { $0.until < $1.until } }
  }

  /// Chooses one of `candidates`, which are in order of preference and not empty.
  ///
  /// Candidates without a delay come first, then those with the shortest delay. Among those, the
  /// choice is by the fewest failures, then by speed, then by support of ranges, then by order.
  init(among candidates: [Candidate], at now: Double) {
    func rank(_ candidate: Candidate) -> (Double, Int, Int, Int) {
      (
        max(candidate.delay?.until ?? now, now), candidate.failures, candidate.isSlow ? 1 : 0,
        candidate.ranges ? 0 : 1
      )
    }
    var best = 0
    for index in candidates.indices where rank(candidates[index]) < rank(candidates[best]) {
      best = index
    }
    mirror = best
    let delay = candidates[best].delay
    notBefore = max(delay?.until ?? now, now)
    fault = notBefore > now ? delay?.fault : nil
  }
}

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

/// Records which pieces of a file were wrong, and at which addresses.
///
/// Pure. A file that was replaced by another one of the same length must not be fetched again and
/// again.
struct WrongPieces {
  /// The number of wrong pieces that cannot be an accident.
  static let limit = 3
  /// A piece that is wrong this often at an address is stored wrong, not damaged in transit.
  private static let repetitions = 2

  /// How often each piece was wrong, by address.
  private var counts: [[Int: Int]]

  /// Creates an empty record for `addresses` addresses.
  init(addresses: Int) { counts = Array(repeating: [:], count: addresses) }

  /// Records that a piece from an address was wrong.
  mutating func add(_ piece: Int, at address: Int) { counts[address][piece, default: 0] += 1 }

  /// Whether several pieces are wrong at all `addresses`.
  ///
  /// False for an empty list.
  func areSeveral(at addresses: [Int]) -> Bool {
    guard let first = addresses.first else { return false }
    let wrong = counts[first].keys.filter { piece in
      addresses.allSatisfy { counts[$0][piece, default: 0] >= Self.repetitions }
    }
    return wrong.count >= Self.limit
  }
}
