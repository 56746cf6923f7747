import Glibc

/// The clock of a program, moved by faketime.
///
/// Tests that need it are skipped with a message if it is not installed.
package enum FakeTime {
  package static let program = "/usr/bin/faketime"
  /// Whether faketime is installed.
  package static let isInstalled = access(program, X_OK) == 0
  /// Whether the clock can be moved: with a sanitizer, the program hangs at its start.
  package static let isUsable = isInstalled && getenv("HOSTEDCONTENT_SANITIZER") == nil
  /// The comment of a skipped test.
  package static let reason =
    isInstalled
    ? "faketime does not work with a sanitizer"
    : "faketime is not installed: apt-get install faketime"

  /// The arguments before those of a program whose clock is `days` days ahead.
  package static func arguments(days: Int) -> [String] { ["-m", "-f", "+\(days)d"] }

  /// Timers and the times of files are not moved.
  package static let environment = ["FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"]
}
