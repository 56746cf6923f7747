import HostedModel
import Glibc

/// The peak memory of this process, for processes that do one thing.
package struct PeakMemory {
  /// Whether memory can be measured.
  ///
  /// Not with sanitizers, which need much memory.
  package static let isMeasurable = getenv("HOSTEDCONTENT_SANITIZER") == nil

  private let before: Int

  /// Starts the measurement.
  ///
  /// Allocations beyond `limit` bytes of address space fail.
  package init(limit: Int = 4 << 30) throws {
    var addresses = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
    setrlimit(__rlimit_resource_t(9), &addresses)
    // Resets the peak to the current value. See proc(5).
    let file = open("/proc/self/clear_refs", O_WRONLY)
    _ = write(file, "5", 1)
    close(file)
    before = try Self.peak()
  }

  /// The peak bytes beyond those at the start.
  package func used() throws -> Int { try Self.peak() - before }

  private static func peak() throws -> Int {
    let file = open("/proc/self/status", O_RDONLY)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = read(file, &bytes, bytes.count)
    let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    let words = lines.first { $0.hasPrefix("VmHWM:") }?.split(separator: " ") ?? []
    guard words.count == 3, let kilobytes = Int(words[1].filter(\.isNumber)) else {
      throw ContentError(
        .inconsistent, "VmHWM not found in /proc/self/status", remedy: "Run it on Linux")
    }
    return kilobytes << 10
  }
}
