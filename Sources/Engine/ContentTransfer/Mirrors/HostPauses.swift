import Concurrency

/// The hosts that refuse requests for now; one for all sessions of a process.
///
/// Requests have numbers that are unique in the process, and all sessions have the same clock.
package final class HostPauses: Sendable {
  /// The pauses of all sessions of this process that have no others.
  package static let shared = HostPauses()

  private let pauses = Mutex<[String: HostPause]>([:])

  /// Creates pauses of its own, as another process would have; for tests.
  package init() {}

  /// Lets `request` start at `origin` if it may; else the instant at which to try again.
  func start(_ request: Int, at origin: String, now: Double) -> Double? {
    pauses.withLock { pauses in
      guard !pauses.isEmpty, var pause = pauses[origin] else { return nil }
      guard !pause.isOver(at: now) else {
        pauses[origin] = nil
        return nil
      }
      let opening = pause.start(request, at: now)
      pauses[origin] = pause
      return opening
    }
  }

  /// Takes note that `origin` answered `request`, and not by a refusal.
  func answer(_ request: Int, at origin: String, now: Double) {
    pauses.withLock { if !$0.isEmpty { $0[origin]?.answer(request, at: now) } }
  }

  /// Takes note that `request` ended with `fault`; a refusal begins a pause, or makes it longer.
  func end(
    _ request: Int, at origin: String, _ fault: TransferFault?, startedAt start: Double,
    now: Double, _ policy: RetryPolicy, random: () -> Double
  ) {
    guard let fault, fault.isRefusal else {
      return pauses.withLock { if !$0.isEmpty { $0[origin]?.end(request, at: now) } }
    }
    let random = random()
    pauses.withLock { pauses in
      pauses[origin, default: HostPause(fault)].refuse(
        request, fault, startedAt: start, at: now, policy, random: random)
    }
  }

  /// What is known of a host that refused requests lately; nil for any other.
  func pause(of origin: String, at now: Double) -> HostPause? {
    pauses.withLock { pauses in
      pauses.isEmpty ? nil : pauses[origin].flatMap { $0.isOver(at: now) ? nil : $0 }
    }
  }
}

extension TransferFault {
  /// Whether the host refuses every request for now.
  var isRefusal: Bool { kind == .status(429) || kind == .status(503) }
}
