import Foundation
import HostedTestSupport

/// Delays the syncs of programs, and records them, with a library for LD_PRELOAD.
final class SyncDelay: Sendable {
  /// Whether the library can be used: a sanitizer's library must be loaded before all others.
  static let isUsable = compiler != nil && getenv("HOSTEDCONTENT_SANITIZER") == nil
  /// The comment of a skipped test.
  static let reason =
    compiler == nil
    ? "cc is not installed: apt-get install gcc" : "LD_PRELOAD does not work with a sanitizer"

  private static let compiler = ServerProcess.path(of: "cc")

  /// A call of fsync(2) or fdatasync(2), with times of CLOCK_MONOTONIC in nanoseconds.
  struct Sync: Sendable {
    let process: Int32
    /// The time before the delay.
    let begin: Int64
    /// The time after it has succeeded; 0 if it has not.
    let end: Int64
    let path: String
  }

  private let folder: TemporaryFolder
  private var library: String { folder.path("delay.so") }
  private var delay: String { folder.path("delay") }
  private var record: String { folder.path("record") }

  /// Compiles the library; it does not delay yet.
  init() throws {
    folder = try TemporaryFolder()
    try Self.compile(SourceTree.path("Tests/SyncDelay/SyncDelay.c"), into: library)
    try Data().write(to: URL(filePath: record))
    // PostgreSQL runs as another user.
    chmod(folder.path, 0o755)
    chmod(library, 0o755)
    chmod(record, 0o666)
    try set(milliseconds: 0)
  }

  /// Compiles a library for LD_PRELOAD.
  static func compile(_ source: String, into library: String) throws {
    let end = try Program.run(
      compiler ?? "/usr/bin/cc",
      ["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", library, source])
    guard end.status == 0 else { throw ChildProcess.Failure("cc failed: \(end.output)") }
  }

  /// Sets the delay of each sync, also of those that wait now.
  func set(milliseconds: Int) throws {
    let new = "\(delay).new"
    try Data("\(milliseconds)\n".utf8).write(to: URL(filePath: new))
    chmod(new, 0o644)
    // A program must not read an incomplete number.
    guard rename(new, delay) == 0 else {
      throw ChildProcess.Failure("Cannot rename \(new): \(String(cString: strerror(errno)))")
    }
  }

  /// The environment of a program whose syncs are delayed and recorded.
  var environment: [String: String] {
    ["LD_PRELOAD": library, "SYNC_DELAY": delay, "SYNC_RECORD": record]
  }

  /// The syncs that have begun, by their begin.
  var begun: [Sync] { syncs("begin") }
  /// The syncs that have succeeded, by their end.
  var completed: [Sync] { syncs("end") }

  private func syncs(_ kind: String) -> [Sync] {
    let text = (try? String(contentsOfFile: record, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 4)
      guard parts.count == 5, parts[0] == kind, let process = Int32(parts[1]),
        let begin = Int64(parts[2]), let end = Int64(parts[3])
      else { return nil }
      return Sync(process: process, begin: begin, end: end, path: String(parts[4]))
    }
  }

  /// The time of CLOCK_MONOTONIC in nanoseconds.
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
