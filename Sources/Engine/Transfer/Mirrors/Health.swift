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
