import CLinux
import Glibc

/// The heaps (arenas) that glibc keeps for the threads of this process.
///
/// glibc makes up to eight for each processor, and each keeps what is free in it. The threads of a
/// queue change heaps from one download to the next, so the memory of a process would grow for
/// days.
package enum MemoryArenas {
  /// Few enough to stay small, and enough that threads do not wait for each other.
  private static let maximum: Int32 = 2

  /// Limits their number, unless the user has done so in the environment.
  package static func limit() { _ = isLimited }

  private static let isLimited: Bool = {
    let tunables = getenv("GLIBC_TUNABLES").map { String(cString: $0) } ?? ""
    guard getenv("MALLOC_ARENA_MAX") == nil, !tunables.contains("arena_max") else { return false }
    hc_limit_arenas(maximum)
    return true
  }()
}
