/// The state of one fetch per address of its file, in addition to the session's state per host.
struct MirrorBook {
  private let addresses: [WebURL]
  private let hosts: MirrorHealth
  private let pauses: HostPauses
  private let clock: TransferClock
  private let random: @Sendable () -> Double
  private var file: HealthTable
  private var marks: [Marks]
  private let rates: HostRates
  private var pace: MirrorPace

  private struct Marks {
    /// Whether the mirror supports ranges.
    var ranges = true
    /// The value of `If-Range`, or nil if no strong validator is known.
    var validator: String?
    /// Whether `If-Range` is sent; not if servers behind one name have different validators.
    var usesValidator = true
    /// The number of times in a row that it did not have the file or denied access.
    var refusals = 0
    var lastRefusal = -Double.infinity
    /// Whether the last fault may be due to the connection or the address of the host.
    var needsConnection = false
  }

  /// The refusals after which a mirror is not used any more.
  ///
  /// One refusal may be an accident, or the file may not have arrived there yet.
  private static let refusalLimit = 2

  init(_ addresses: [WebURL], _ session: HTTPSession) {
    self.addresses = addresses
    hosts = session.health
    pauses = session.loop.pauses
    clock = session.loop.clock
    random = session.loop.random
    file = HealthTable(session.configuration.retry)
    marks = addresses.map { _ in Marks() }
    rates = session.rates
    pace = MirrorPace(
      rates: rates.rates(of: addresses.map(\.origin), at: session.loop.clock.uptime()))
  }

  /// Returns where the next request goes.
  func choose(at now: Double) -> MirrorChoice {
    let open = open
    let candidates = open.map { index in
      let health = health(of: index)
      let pause = pauses.pause(of: addresses[index].origin, at: now)
      return MirrorChoice.Candidate(
        file: health.file, host: health.host, pause: pause?.delay(at: now),
        failures: health.failures + (pause?.refusals ?? 0), isSlow: pace.isSlow(index),
        ranges: marks[index].ranges)
    }
    var choice = MirrorChoice(among: candidates, at: now)
    choice.mirror = open[choice.mirror]
    return choice
  }

  /// The mirrors in use.
  var open: [Int] { addresses.indices.filter { !isExcluded($0) } }

  /// Returns the mirror for a second request when one at `mirror` is idle, or nil if none is free.
  ///
  /// Another mirror is preferred. A mirror that had a fault recently or refuses requests is not
  /// used.
  func second(besides mirror: Int, isWhole: Bool, at now: Double) -> Int? {
    let free = open.filter { index in
      let isBusy = pauses.pause(of: addresses[index].origin, at: now) != nil
      let health = health(of: index)
      let isLate = [health.file, health.host].contains { ($0?.until ?? now) > now }
      return !isBusy && !isLate && (isWhole || marks[index].ranges)
    }
    return free.first { $0 != mirror } ?? free.first
  }

  private typealias Delay = (until: Double, fault: TransferFault)

  /// Returns the results of this file's requests at `mirror`, and of all requests to its host.
  private func health(of mirror: Int) -> (file: Delay?, host: Delay?, failures: Int) {
    let (name, origin) = (addresses[mirror].text, addresses[mirror].origin)
    let (host, failures) = hosts.withTable { ($0.delay(of: origin), $0.failures(of: origin)) }
    return (file.delay(of: name), host, file.failures(of: name) + failures)
  }

  private func isExcluded(_ mirror: Int) -> Bool { marks[mirror].refusals >= Self.refusalLimit }

  /// Whether all mirrors are excluded.
  var allRefuse: Bool { marks.indices.allSatisfy(isExcluded) }

  /// Records that a mirror does not have the file.
  ///
  /// Parallel requests count once.
  mutating func refuse(at mirror: Int, startedAt: Double) {
    guard startedAt >= marks[mirror].lastRefusal else { return }
    marks[mirror].refusals += 1
    marks[mirror].lastRefusal = clock.uptime()
  }

  /// Counts verified bytes.
  ///
  /// Returns true if `mirror` is so slow that another one is used. `bytesLeft` are the missing
  /// bytes of the whole fetch.
  mutating func leaves(_ mirror: Int, after bytes: Int64, bytesLeft: Int64) -> Bool {
    let now = clock.uptime()
    guard let rate = pace.count(bytes, from: mirror, at: now) else { return false }
    rates.note(rate, of: addresses[mirror].origin, at: now)
    let others = open.filter { $0 != mirror && health(of: $0).failures == 0 }
    return pace.leave(mirror, for: others, bytesLeft: bytesLeft, at: now) != nil
  }

  /// Records the rates for other files at the end of the fetch.
  func finish() {
    let now = clock.uptime()
    for (mirror, rate) in pace.lastRates(at: now) {
      rates.note(rate, of: addresses[mirror].origin, at: now)
    }
  }

  func ranges(at mirror: Int) -> Bool { marks[mirror].ranges }

  /// Whether the next request needs a new connection and a new lookup of the address.
  func needsConnection(at mirror: Int) -> Bool { marks[mirror].needsConnection }

  func validator(at mirror: Int) -> String? {
    marks[mirror].usesValidator ? marks[mirror].validator : nil
  }

  /// Records the validator of the file.
  mutating func learn(_ head: HTTPHead, at mirror: Int) {
    marks[mirror].validator = Validator.strong(head)
    marks[mirror].needsConnection = false
  }

  /// Records whether the connection may be the cause of `fault`.
  mutating func note(_ fault: TransferFault, at mirror: Int) {
    marks[mirror].needsConnection = fault.mayBeOfAddress
  }

  mutating func giveUpRanges(at mirror: Int) { marks[mirror].ranges = false }

  mutating func giveUpValidator(at mirror: Int) { marks[mirror].usesValidator = false }

  mutating func succeed(at mirror: Int) {
    marks[mirror].refusals = 0
    file.succeed(addresses[mirror].text)
    let origin = addresses[mirror].origin
    hosts.withTable { $0.succeed(origin) }
  }

  mutating func fail(at mirror: Int, _ fault: TransferFault, startedAt: Double) {
    let now = clock.uptime()
    let random = random()
    guard fault.concernsHost else {
      return file.fail(
        addresses[mirror].text, fault, startedAt: startedAt, now: now, random: random)
    }
    let origin = addresses[mirror].origin
    hosts.withTable { $0.fail(origin, fault, startedAt: startedAt, now: now, random: random) }
  }
}
