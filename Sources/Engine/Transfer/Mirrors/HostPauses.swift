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
