import HostedHTTPValues
package import FoundationEssentials
import HostedConcurrency

/// When failed requests are retried; pure.
package struct RetryPolicy: Hashable, Sendable {
  /// The maximum number of attempts for a piece or a small file.
  package var attempts = 5
  /// The maximum of the first delay, in seconds; it doubles for each further delay.
  package var firstDelay: Double
  /// The maximum delay of the back-off, in seconds.
  package var longestDelay: Double
  /// How long a host may answer all requests with 429 and 503, in seconds.
  ///
  /// These answers do not count as attempts.
  package var busyTimeout = 90.0
  /// The maximum delay that a server may ask for, in seconds.
  private static let longestRetryAfter = 60.0

  /// Creates a policy; the delays are in seconds.
  package init(firstDelay: Double = 0.5, longestDelay: Double = 10) {
    (self.firstDelay, self.longestDelay) = (firstDelay, longestDelay)
  }

  /// Returns the delay in seconds after failure number `failure` (from 1) in a row.
  ///
  /// Uses exponential back-off with full jitter: `random`, from 0 to 1, selects a delay between 0
  /// and the maximum, so that clients that failed at the same time do not retry at the same time.
  /// The delay is at least `retryAfter`, up to a minute.
  package func delay(afterFailure failure: Int, retryAfter: Double?, random: Double) -> Double {
    let doublings = min(max(failure, 1), 32) - 1
    let ceiling = min(longestDelay, firstDelay * Double(1 << doublings))
    let requested = min(max(retryAfter ?? 0, 0), Self.longestRetryAfter)
    return max(ceiling * min(max(random, 0), 1), requested)
  }

  /// Returns the seconds in a `Retry-After` header, which is a number or a date, or nil if invalid.
  package static func retryAfter(_ value: String?, now: Date) -> Double? {
    guard let value = value?.trimmed else { return nil }
    if let seconds = Int64(digits: value) { return Double(seconds) }
    return HTTPDate.seconds(value).map { max(0, Double($0) - now.timeIntervalSince1970) }
  }
}

/// The failures in a row of a host, or of a file at one address, and the resulting back-off.
///
/// Pure: callers pass the time. After the delay, another request may be sent, and the first success
/// clears it.
struct Health: Sendable {
  /// The number of failures in a row.
  private(set) var failures = 0
  /// When another request may be sent, and the last fault, or nil without a failure.
  private(set) var delay: (until: Double, fault: TransferFault)?
  private var lastFailure = -Double.infinity

  /// Records the failure of a request that was sent at `start`.
  ///
  /// Failures of parallel requests have the same cause and count once: a request that was sent
  /// before the last failure does not count as another failure in a row. `random` is from 0 to 1.
  mutating func fail(
    _ fault: TransferFault, startedAt start: Double, now: Double, _ policy: RetryPolicy,
    random: Double
  ) {
    if start >= lastFailure { failures += 1 }
    lastFailure = now
    let wait = policy.delay(afterFailure: failures, retryAfter: fault.retryAfter, random: random)
    delay = (max(delay?.until ?? 0, now + wait), fault)
  }
}

/// The hosts that could not be reached recently, shared by all transfers of a session.
final class HostHealth: Sendable {
  private let table = Mutex<[String: Health]>([:])

  /// The failures of `origin`, or nil if it can be reached.
  subscript(origin: String) -> Health? { table.withLock { $0[origin] } }

  /// Records whether the host of a request that was sent at `start` can be reached.
  ///
  /// A fault of something else changes nothing.
  func note(
    _ fault: TransferFault?, from origin: String, startedAt start: Double, on loop: TransferLoop
  ) {
    guard let fault else { return table.withLock { $0[origin] = nil } }
    guard fault.concernsHost else { return }
    let (now, random) = (loop.clock.uptime(), loop.random())
    table.withLock {
      $0[origin, default: Health()].fail(
        fault, startedAt: start, now: now, loop.configuration.retry, random: random)
    }
  }
}
