package import FoundationEssentials

/// Where look-ups and checks get the time from; tests hand in their own.
package struct AppUpdateClock: Sendable {
  /// The date.
  package let now: @Sendable () -> Date
  /// Waits for so many seconds; throws when its task is cancelled.
  package let sleep: @Sendable (Double) async throws -> Void

  package init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Double) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// The system's clock.
  package static let system = AppUpdateClock(
    now: { Date() }, sleep: { try await Task.sleep(for: .seconds($0)) })
}
