import Glibc
import HostedCLinux
import HostedModel

/// How many threads this process may still start, by `RLIMIT_NPROC` and `pids.max`.
///
/// `pids.max` is the limit of control groups. libdispatch waits forever if it gets no thread, so
/// code that needs threads checks first.
package struct ThreadLimits {
  /// Returns the text of a file, or nil if it cannot be read.
  let text: (String) -> String?
  /// Returns the names in `/proc`, among them the numbers of all processes.
  let processes: () -> [String]
  /// The soft limit of the user's threads, or nil for no limit.
  let userLimit: Int?
  let user: UInt32

  /// Throws `tooFewThreads` unless this process may start `count` more threads.
  package static func require(_ count: Int, for purpose: String) throws {
    let limits = ThreadLimits(
      text: contents,
      processes: {
        let folder = try? FileSystem.real.directory(at: "/proc")
        return ((try? folder?.entries()) ?? []).map(\.name)
      }, userLimit: currentUserLimit, user: getuid())
    try limits.require(count, for: purpose)
  }

  /// Throws `tooFewThreads` unless all limits allow `count` more threads.
  func require(_ count: Int, for purpose: String) throws {
    guard let limit = exceeded(by: count) else { return }
    throw ContentError(
      .tooFewThreads,
      "\(purpose) needs \(count) threads; \(limit.name) allows \(max(0, limit.remaining)) more",
      remedy:
        "Raise the limit (ulimit -u, or pids.max of the control group), or end other processes"
    )
  }

  /// Returns the first limit that does not allow `count` more threads, and how many it allows.
  func exceeded(by count: Int) -> (name: String, remaining: Int)? {
    if let remaining = remainingOfUser(needed: count), remaining < count {
      return ("RLIMIT_NPROC of user \(user)", remaining)
    }
    for folder in Self.controlGroups(text("/proc/self/cgroup") ?? "") {
      guard let maximum = number(in: "\(folder)/pids.max") else { continue }
      let remaining = maximum - (number(in: "\(folder)/pids.current") ?? 0)
      if remaining < count { return ("\(folder)/pids.max", remaining) }
    }
    return nil
  }

  private func remainingOfUser(needed count: Int) -> Int? {
    guard let userLimit, !isExempt else { return nil }
    // To count a user's threads, one file per process must be read. A single file has the count of
    // all users.
    if let all = Self.threadCount(text("/proc/loadavg") ?? ""), all <= userLimit - count {
      return userLimit - all
    }
    let used = processes().filter { $0.utf8.allSatisfy(\.isDigit) }
      .compactMap { text("/proc/\($0)/status") }
      .reduce(0) { $0 + Self.threads(of: user, status: $1) }
    return userLimit - used
  }

  /// Whether the limit does not apply: for root, but not for the root of a user namespace.
  private var isExempt: Bool {
    guard user == 0 else { return false }
    let fields = text("/proc/self/uid_map")?.split(whereSeparator: \.isWhitespace) ?? []
    return fields.count < 2 || fields[1] == "0"
  }

  private func number(in path: String) -> Int? {
    text(path).flatMap { Int($0.prefix { !$0.isWhitespace }) }
  }

  // MARK: Files of the system

  /// Returns the control groups in `/proc/self/cgroup`: the process's own and their parents.
  static func controlGroups(_ text: String) -> [String] {
    let lines = text.split(separator: "\n").map {
      $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    }.filter { $0.count == 3 }
    // Version 1 has a hierarchy per controller. Version 2 has a single hierarchy.
    let first = lines.first { $0[1].split(separator: ",").contains("pids") }
    guard let line = first ?? lines.first(where: { $0[1].isEmpty }) else { return [] }
    var folders = [first == nil ? "/sys/fs/cgroup" : "/sys/fs/cgroup/pids"]
    for name in line[2].split(separator: "/") where name != ".." {
      folders.append("\(folders[folders.count - 1])/\(name)")
    }
    return folders.reversed()
  }

  /// Parses the number of all threads in `/proc/loadavg`, whose fourth field is `running/all`.
  static func threadCount(_ text: String) -> Int? {
    let fields = text.split(separator: " ")
    guard fields.count > 3, let all = fields[3].split(separator: "/").last else { return nil }
    return Int(all)
  }

  /// Parses the number of threads in `/proc/<id>/status`; 0 if another user owns the process.
  static func threads(of user: UInt32, status: String) -> Int {
    var threads = 0
    for line in status.split(separator: "\n") {
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count > 1 else { continue }
      if fields[0] == "Uid:", UInt32(fields[1]) != user { return 0 }
      if fields[0] == "Threads:" { threads = Int(fields[1]) ?? 0 }
    }
    return threads
  }

  // MARK: This process

  private static var currentUserLimit: Int? {
    let limit = hc_process_limit()
    return limit < 0 ? nil : limit
  }

  private static func contents(_ path: String) -> String? {
    // The relevant lines are at the start of longer files.
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = try? bytes.withUnsafeMutableBytes {
      try FileSystem.real.file(at: path).read(into: $0, at: 0)
    }
    return count.map { String(decoding: bytes[..<$0], as: UTF8.self) }
  }
}

/// The heaps (arenas) that glibc keeps for the threads of this process.
///
/// glibc creates up to eight per processor, and each keeps its free memory. The threads of a queue
/// change heaps between downloads, so the memory of a process would grow for days.
package enum MemoryArenas {
  /// Few enough to stay small, but enough that threads do not wait for each other.
  private static let maximum: Int32 = 2

  /// Limits the number of arenas, unless the environment already does so.
  package static func limit() { _ = isLimited }

  private static let isLimited: Bool = {
    let tunables = getenv("GLIBC_TUNABLES").map { String(cString: $0) } ?? ""
    guard getenv("MALLOC_ARENA_MAX") == nil, !tunables.contains("arena_max") else { return false }
    hc_limit_arenas(maximum)
    return true
  }()
}
