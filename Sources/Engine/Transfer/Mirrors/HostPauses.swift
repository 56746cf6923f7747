import HostedConcurrency

/// The hosts that currently refuse requests, for all sessions of a process.
///
/// Request numbers are unique in the process, and all sessions have the same clock.
package final class HostPauses: Sendable {
  /// The pauses of all sessions of this process by default.
  package static let shared = HostPauses()

  private let pauses = Mutex<[String: HostPause]>([:])

  /// Creates separate pauses, as another process would have; for tests.
  package init() {}

  /// Starts `request` at `origin` if it may; otherwise, returns the uptime of the next attempt.
  func start(_ request: Int, at origin: String, now: Double) -> Double? {
    pauses.withLock { pauses in
      guard var pause = pauses[origin] else { return nil }
      guard !pause.isOver(at: now) else {
        pauses[origin] = nil
        return nil
      }
      let opening = pause.start(request, at: now)
      pauses[origin] = pause
      return opening
    }
  }

  /// Records that `origin` answered `request` without a refusal.
  func answer(_ request: Int, at origin: String, now: Double) {
    pauses.withLock { $0[origin]?.answer(request, at: now) }
  }

  /// Records that `request` ended with `fault`; a refusal starts or extends a pause.
  func end(
    _ request: Int, at origin: String, _ fault: TransferFault?, startedAt start: Double,
    now: Double, _ policy: RetryPolicy, random: () -> Double
  ) {
    guard let fault, fault.isRefusal else {
      pauses.withLock { $0[origin]?.end(request, at: now) }
      return
    }
    let random = random()
    pauses.withLock { pauses in
      pauses[origin, default: HostPause(fault)].refuse(
        request, fault, startedAt: start, at: now, policy, random: random)
    }
  }

  /// Returns the pause of a host that has refused requests recently, or nil.
  func pause(of origin: String, at now: Double) -> HostPause? {
    pauses.withLock { $0[origin].flatMap { $0.isOver(at: now) ? nil : $0 } }
  }
}

/// When a host that answered 429 or 503 may get requests again.
///
/// Pure: callers pass the time. After a pause, one request probes the host. If it is answered,
/// others follow at a limited rate, until the host has not refused any request for a while.
/// Sources: RFC 6585 §4 and RFC 9110 §15.6.4.
struct HostPause: Sendable {
  /// The minimum time between the starts of two requests, in seconds.
  static let shortestInterval = 0.125
  /// The maximum time between the starts of two requests while they are answered.
  static let longestInterval = 0.5
  /// The seconds without a refusal after which all restrictions end.
  static let memory = 30.0
  /// The check interval while another session probes, since the end of the probe is not known.
  private static let lookInterval = 0.25

  private enum State: Sendable {
    /// No request starts; then `probing`.
    case paused(until: Double)
    /// One request probes the host; then `paced` or `paused`.
    case probing(request: Int, since: Double)
    /// Requests start at intervals; then `paused`.
    case paced(next: Double)
  }

  private var state = State.paced(next: -.infinity)
  private var interval = Self.shortestInterval
  private var lastRefusal = -Double.infinity
  /// The number of refusals in a row.
  private(set) var refusals = 0
  /// The uptime since which the host has refused all requests, or nil after an answer.
  private(set) var refusedSince: Double?
  /// The last refusal.
  private(set) var fault: TransferFault

  /// Creates the state of a host before its first refusal is recorded with `refuse`.
  init(_ fault: TransferFault) { self.fault = fault }

  /// Records that the host refused `request`, which was sent at `start`.
  ///
  /// Refusals of parallel requests have the same cause and count once. `random` is from 0 to 1.
  mutating func refuse(
    _ request: Int, _ fault: TransferFault, startedAt start: Double, at now: Double,
    _ policy: RetryPolicy, random: Double
  ) {
    self.fault = fault
    if start >= lastRefusal {
      refusals += 1
      refusedSince = refusedSince ?? now
    }
    lastRefusal = now
    switch state {
    case .probing(request, _): break
    case .probing: return
    case .paused(let until):
      let requested = policy.delay(afterFailure: 1, retryAfter: fault.retryAfter, random: 0)
      state = .paused(until: max(until, now + requested))
      return
    case .paced: interval = min(Self.longestInterval, interval * 1.5)
    }
    let delay = policy.delay(
      afterFailure: refusals, retryAfter: fault.retryAfter, random: random)
    state = .paused(until: now + max(delay, interval))
  }

  /// Records that the host answered `request` without a refusal.
  mutating func answer(_ request: Int, at now: Double) {
    switch state {
    case .probing(request, _):
      state = .paced(next: now + interval)
    case .paced:
      interval = max(Self.shortestInterval, interval * 0.95)
    // An earlier request. Others were refused after it.
    case .probing, .paused: return
    }
    refusals = 0
    refusedSince = nil
  }

  /// Records that `request` ended; if it was the probe and got no answer, the next request probes.
  mutating func end(_ request: Int, at now: Double) {
    if case .probing(request, _) = state { state = .paused(until: now + interval) }
  }

  /// Returns the uptime before which no request starts; it is not after `now` if one may start.
  func opening(at now: Double) -> Double {
    switch state {
    case .paused(let until): return until
    case .paced(let next): return next
    case .probing(_, let since):
      let looks = ((now - since) / Self.lookInterval).rounded(.down) + 1
      return since + looks * Self.lookInterval
    }
  }

  /// Starts `request` if it may; otherwise, returns the uptime of the next attempt.
  mutating func start(_ request: Int, at now: Double) -> Double? {
    let opening = opening(at: now)
    guard opening <= now else { return opening }
    if case .paused = state {
      state = .probing(request: request, since: now)
    } else {
      state = .paced(next: now + interval)
    }
    return nil
  }

  /// Whether the host answers again, so that the restrictions end.
  func isOver(at now: Double) -> Bool {
    guard case .paced = state else { return false }
    return now - lastRefusal >= Self.memory
  }

  /// Returns until when at most one request runs, and why, or nil if the host answers again.
  func delay(at now: Double) -> (until: Double, fault: TransferFault)? {
    if case .paced = state { nil } else { (opening(at: now), fault) }
  }
}
