import HostedModel
import Glibc

/// Threads that each run a body until it returns.
///
/// `deinit` joins them. The bodies block, so they are not tasks, which share a few threads.
package final class WorkerThreads {
  /// The number of processors, at most 16.
  package static var standardCount: Int { min(16, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  private var threads: [WorkThread] = []

  /// Starts up to `count` threads, each with its number.
  ///
  /// Throws `tooFewThreads` if none starts. `body` must work with any number of threads.
  package init(count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    for number in 0..<max(1, count) {
      do {
        threads.append(try WorkThread { body(number) })
      } catch {
        guard threads.isEmpty else { return }
        throw error
      }
    }
  }

  /// Waits until all bodies have returned.
  package func join() {
    for thread in threads { thread.end() }
    threads = []
  }

  deinit { join() }
}
