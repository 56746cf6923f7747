package import FoundationEssentials

/// The clock of lookups and checks; tests can replace it.
package struct AppUpdateClock: Sendable {
  /// The current date.
  package let now: @Sendable () -> Date
  /// Waits for a number of seconds; throws if its task is canceled.
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
