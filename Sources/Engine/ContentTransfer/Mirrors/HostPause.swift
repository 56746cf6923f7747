/// When a host that answered 429 or 503 may be asked again; pure, time is handed in.
///
/// The first request after a pause goes alone. If it is answered, others follow at a bounded rate,
/// until the host has not refused any for a while. The corresponding text is RFC 6585 §4 and
/// RFC 9110 §15.6.4.
struct HostPause: Sendable {
  /// No two requests start closer together, in seconds.
  static let shortestInterval = 0.125
  /// Nor are they kept further apart than this while they are answered.
  static let longestInterval = 0.5
  /// Seconds without a refusal after which nothing is restricted any more.
  static let memory = 30.0
  /// A request of another session that tries alone ends at an unknown time, so look this often.
  private static let lookInterval = 0.25

  private enum State: Sendable {
    /// Nothing starts; → `probing`.
    case paused(until: Double)
    /// One request tries alone; → `paced`, `paused`.
    case probing(request: Int, since: Double)
    /// Requests start one after the other; → `paused`.
    case paced(next: Double)
  }

  private var state = State.paced(next: -.infinity)
  private var interval = Self.shortestInterval
  private var lastRefusal = -Double.infinity
  /// Refusals in a row.
  private(set) var refusals = 0
  /// Since when it has refused everything; nil after it answered.
  private(set) var refusedSince: Double?
  /// The last refusal.
  private(set) var fault: TransferFault

  /// A host that is about to `refuse` its first request.
  init(_ fault: TransferFault) { self.fault = fault }

  /// The host refused request `request`, which began at `start`.
  ///
  /// Requests that ran side by side are refused for one reason and count once. `random` is from 0
  /// to 1.
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
      let wish = policy.delay(afterFailure: 1, retryAfter: fault.retryAfter, random: 0)
      state = .paused(until: max(until, now + wish))
      return
    case .paced: interval = min(Self.longestInterval, interval * 1.5)
    }
    let delay = policy.delay(
      afterFailure: refusals, retryAfter: fault.retryAfter, random: random)
    state = .paused(until: now + max(delay, interval))
  }

  /// The host answered `request` with something else.
  mutating func answer(_ request: Int, at now: Double) {
    switch state {
    case .probing(request, _):
      state = .paced(next: now + interval)
    case .paced:
      interval = max(Self.shortestInterval, interval * 0.95)
    // An earlier request; others were refused since.
    case .probing, .paused: return
    }
    refusals = 0
    refusedSince = nil
  }

  /// Request `request` ended; if it was to try alone and got no answer, the next one tries.
  mutating func end(_ request: Int, at now: Double) {
    if case .probing(request, _) = state { state = .paused(until: now + interval) }
  }

  /// The instant before which nothing starts; not after `now` if a request may start.
  func opening(at now: Double) -> Double {
    switch state {
    case .paused(let until): return until
    case .paced(let next): return next
    case .probing(_, let since):
      let looks = ((now - since) / Self.lookInterval).rounded(.down) + 1
      return since + looks * Self.lookInterval
    }
  }

  /// Lets `request` start if it may; else the instant at which to try again.
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

  /// Whether the host answers again, so that nothing is restricted.
  func isOver(at now: Double) -> Bool {
    guard case .paced = state else { return false }
    return now - lastRefusal >= Self.memory
  }

  /// Until when nothing starts, or one request only, and why; nil if the host answers again.
  func delay(at now: Double) -> (until: Double, fault: TransferFault)? {
    if case .paced = state { nil } else { (opening(at: now), fault) }
  }
}
