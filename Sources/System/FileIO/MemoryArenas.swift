import HostedCLinux
import Glibc

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
