import HostedHTTPValues
import HostedConcurrency

/// The state of one fetch per address of its file, in addition to the session's state per host.
struct MirrorBook {
  private let addresses: [WebURL]
  private let session: HTTPSession
  private var mirrors: [Mirror]
  private var pace: MirrorPace

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
    fileprivate var health = Health()
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

  init(_ addresses: [WebURL], _ session: HTTPSession) {
    self.addresses = addresses
    self.session = session
    mirrors = addresses.map { _ in Mirror() }
    pace = MirrorPace(
      rates: session.rates.rates(of: addresses.map(\.origin), at: session.loop.clock.uptime()))
  }

  subscript(mirror: Int) -> Mirror {
    get { mirrors[mirror] }
    set { mirrors[mirror] = newValue }
  }

  /// Returns where the next request goes.
  func choose(at now: Double) -> MirrorChoice {
    let open = open
    let candidates = open.map { index in
      let health = health(of: index)
      let pause = session.pause(at: addresses[index])
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
  func second(besides mirror: Int, isWhole: Bool, at now: Double) -> Int? {
    let free = open.filter { index in
      let isBusy = session.pause(at: addresses[index]) != nil
      let isLate = health(of: index).contains { ($0.delay?.until ?? 0) > now }
      return !isBusy && !isLate && (isWhole || mirrors[index].ranges)
    }
    return free.first { $0 != mirror } ?? free.first
  }

  /// Returns the results of this file's requests at `mirror`, and of all requests to its host.
  private func health(of mirror: Int) -> [Health] {
    let origin = addresses[mirror].origin
    return [mirrors[mirror].health, session.health.withLock { $0[origin] } ?? Health()]
  }

  /// Whether all mirrors are excluded.
  var allRefuse: Bool { mirrors.allSatisfy(\.isExcluded) }

  /// Records that a mirror does not have the file.
  ///
  /// Parallel requests count once.
  mutating func refuse(at mirror: Int, startedAt: Double) {
    guard startedAt >= mirrors[mirror].lastRefusal else { return }
    mirrors[mirror].refusals += 1
    mirrors[mirror].lastRefusal = session.loop.clock.uptime()
  }

  /// Counts verified bytes.
  ///
  /// Returns true if `mirror` is so slow that another one is used. `bytesLeft` are the missing
  /// bytes of the whole fetch.
  mutating func leaves(_ mirror: Int, after bytes: Int64, bytesLeft: Int64) -> Bool {
    let now = session.loop.clock.uptime()
    guard let rate = pace.count(bytes, from: mirror, at: now) else { return false }
    session.rates.note(rate, of: addresses[mirror].origin, at: now)
    let others = open.filter { other in
      other != mirror && health(of: other).allSatisfy { $0.failures == 0 }
    }
    return pace.leave(mirror, for: others, bytesLeft: bytesLeft, at: now) != nil
  }

  /// Records the rates for other files at the end of the fetch.
  func finish() {
    let now = session.loop.clock.uptime()
    for (mirror, rate) in pace.lastRates(at: now) {
      session.rates.note(rate, of: addresses[mirror].origin, at: now)
    }
  }

  mutating func succeed(at mirror: Int) {
    mirrors[mirror].refusals = 0
    mirrors[mirror].health = Health()
    let origin = addresses[mirror].origin
    session.health.withLock { $0[origin] = nil }
  }

  mutating func fail(at mirror: Int, _ fault: TransferFault, startedAt: Double) {
    guard !fault.concernsHost else {
      return session.note(fault, from: addresses[mirror].origin, startedAt: startedAt)
    }
    let (now, random) = (session.loop.clock.uptime(), session.loop.random())
    mirrors[mirror].health.fail(
      fault, startedAt: startedAt, now: now, session.configuration.retry, random: random)
  }
}
