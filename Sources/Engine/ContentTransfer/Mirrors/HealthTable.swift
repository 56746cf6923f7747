/// Failures in a row by name, and the resulting back-off.
///
/// Pure: callers pass the time. Health recovers automatically: after the delay, a name may be tried
/// again, and the first success clears it.
struct HealthTable: Sendable {
  private struct Record {
    var failures = 0
    var lastFailure = 0.0
    var availableAt = 0.0
    var fault: TransferFault
  }

  private let policy: RetryPolicy
  private var records: [String: Record] = [:]

  init(_ policy: RetryPolicy) { self.policy = policy }

  /// Records the failure of a request that was sent at `start`.
  ///
  /// Failures of parallel requests have the same cause and count once: a request that was sent
  /// before the last failure does not count as another failure in a row. `random` is from 0 to 1.
  mutating func fail(
    _ name: String, _ fault: TransferFault, startedAt start: Double, now: Double, random: Double
  ) {
    var record = records[name] ?? Record(lastFailure: -.infinity, fault: fault)
    if start >= record.lastFailure || record.failures == 0 { record.failures += 1 }
    record.lastFailure = now
    record.fault = fault
    let delay = policy.delay(
      afterFailure: record.failures, retryAfter: fault.retryAfter, random: random)
    record.availableAt = max(record.availableAt, now + delay)
    records[name] = record
  }

  /// Records that `name` delivered correct data.
  mutating func succeed(_ name: String) {
    if !records.isEmpty { records[name] = nil }
  }

  /// Returns when `name` may be tried again, and why it failed, or nil if it is healthy.
  func delay(of name: String) -> (until: Double, fault: TransferFault)? {
    records[name].map { ($0.availableAt, $0.fault) }
  }

  /// Returns the number of failures in a row.
  func failures(of name: String) -> Int { records[name]?.failures ?? 0 }
}
