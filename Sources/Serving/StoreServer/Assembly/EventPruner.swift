import HostedConcurrency
import HostedModel
import FoundationEssentials
import HostedLedger

/// Deletes old events of a ledger, at its creation and then once an hour.
///
/// Thread-safe; calls block.
final class EventPruner: Sendable {
  private let ledger: Ledger
  private let now: @Sendable () -> Date
  private let clock: @Sendable () -> ContinuousClock.Instant
  private let report: @Sendable (ContentError) -> Void
  private let next: Mutex<ContinuousClock.Instant>

  /// The documented time for which a cursor can be used.
  private static let retention: Duration = .seconds(30 * 86_400)
  private static let interval: Duration = .seconds(3_600)

  /// `now` is the date for the age of events, and `clock` is for the interval.
  init(
    _ ledger: Ledger, now: @escaping @Sendable () -> Date,
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    report: @escaping @Sendable (ContentError) -> Void
  ) throws {
    self.ledger = ledger
    self.now = now
    self.clock = clock
    self.report = report
    next = Mutex(clock() + Self.interval)
    try prune()
  }

  /// Deletes old events if an hour has passed; reports a failure.
  func pruneHourly() {
    let time = clock()
    let isDue = next.withLock { next in
      guard time >= next else { return false }
      next = time + Self.interval
      return true
    }
    guard isDue else { return }
    do {
      try prune()
    } catch {
      report(ContentError(error, while: "deleting old events"))
    }
  }

  private func prune() throws {
    let now = now()
    try ledger.pruneEvents(before: now.addingTimeInterval(-Self.retention.inSeconds), now: now)
  }
}
