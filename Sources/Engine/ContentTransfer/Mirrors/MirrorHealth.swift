import Concurrency

/// Which hosts failed lately and when each may be asked again; shared by all transfers of a
/// session.
final class MirrorHealth: Sendable {
  private let table: Mutex<HealthTable>

  init(_ policy: RetryPolicy) { table = Mutex(HealthTable(policy)) }

  func withTable<Value>(_ body: (inout sending HealthTable) -> sending Value) -> sending Value {
    table.withLock(body)
  }
}

/// Failures in a row by name, and the back-off that follows from them; pure, time is handed in.
///
/// Health recovers by itself: once its time has passed a name may be asked again, and the first
/// success clears it.
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

  /// Takes note of a failure of a request that began at `start`.
  ///
  /// Requests that ran side by side and failed of one cause count once: one that began before the
  /// last failure was known is no further failure in a row. `random` is from 0 to 1.
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

  /// Takes note that `name` brought something right.
  mutating func succeed(_ name: String) {
    if !records.isEmpty { records[name] = nil }
  }

  /// When `name` may be asked again, and why not before; nil when it is healthy.
  func delay(of name: String) -> (until: Double, fault: TransferFault)? {
    records[name].map { ($0.availableAt, $0.fault) }
  }

  /// Failures in a row.
  func failures(of name: String) -> Int { records[name]?.failures ?? 0 }
}
