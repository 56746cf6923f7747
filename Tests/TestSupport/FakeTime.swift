import Glibc

/// The clock of a program, moved by libfaketime.
///
/// Tests that need it are skipped with a message if it is not installed.
package enum FakeTime {
  /// Whether libfaketime is installed.
  package static let isInstalled = library != nil
  /// Whether the clock can be moved: with a sanitizer, the program hangs at its start.
  package static let isUsable = isInstalled && getenv("HOSTEDCONTENT_SANITIZER") == nil
  /// The comment of a skipped test.
  package static let reason =
    isInstalled
    ? "libfaketime does not work with a sanitizer"
    : "libfaketime is not installed: apt-get install faketime"

  private static let library = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
    .map { (folder: String) -> String in "/usr/lib/\(folder)/faketime/libfaketimeMT.so.1" }
    .first { (path: String) -> Bool in access(path, R_OK) == 0 }

  /// The environment of a program whose clock is `days` days ahead.
  ///
  /// Timers and the times of files are not moved.
  package static func environment(days: Int) -> [String: String] {
    [
      "LD_PRELOAD": library ?? "", "FAKETIME": "+\(days)d", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
      "NO_FAKE_STAT": "1",
    ]
  }
}
