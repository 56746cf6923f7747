import ContentModel
import FileIO
import Glibc

/// Threads that run one body each until it returns; joined before they are forgotten.
///
/// Threads of their own, because their bodies block, which a task of Swift's pool must not.
final class WorkerThreads {
  /// As many as this process has processors, at most 16.
  static var standardCount: Int { min(16, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  private var threads: [WorkThread] = []

  /// Starts `count` threads, each with its number; throws `tooFewThreads` when none can be started.
  ///
  /// Fewer are enough: `body` must do its work whatever their count is.
  init(count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    for number in 0..<max(1, count) {
      do {
        threads.append(try WorkThread { body(number) })
      } catch {
        guard threads.isEmpty else { return }
        throw ContentError(
          .tooFewThreads, "Cannot start a thread",
          remedy: "Raise the limit of processes, or end other processes",
          cause: String(cString: strerror(error.number)))
      }
    }
  }

  /// Waits until every body has returned.
  func join() {
    for thread in threads { thread.end() }
    threads = []
  }

  deinit { join() }
}
