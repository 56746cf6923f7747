import FoundationEssentials

/// The clock of lookups and checks; tests can replace it.
struct AppUpdateClock: Sendable {
  /// The current date.
  var now: @Sendable () -> Date = { Date() }
  /// Waits for a number of seconds; throws if its task is canceled.
  var sleep: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }
}
