import ContentModel
import Glibc

/// Threads that run one body each until it returns; joined before they are forgotten.
///
/// Threads of their own, because their bodies block, which a task of Swift's pool must not.
final class WorkerThreads {
  /// As many as this process has processors, at most 16.
  static var standardCount: Int { min(16, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  private final class Start: Sendable {
    let number: Int
    let body: @Sendable (Int) -> Void

    init(_ number: Int, _ body: @escaping @Sendable (Int) -> Void) {
      self.number = number
      self.body = body
    }
  }

  private var threads: [pthread_t] = []

  /// Starts `count` threads, each with its number; throws `inconsistent` when none can be started.
  ///
  /// Fewer are enough: `body` must do its work whatever their count is.
  init(count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    for number in 0..<max(1, count) {
      let start = Unmanaged.passRetained(Start(number, body))
      var thread = pthread_t()
      let result = pthread_create(&thread, nil, runWorker, start.toOpaque())
      guard result == 0 else {
        start.release()
        if threads.isEmpty {
          throw ContentError(
            .inconsistent, "No thread can be started", remedy: "Raise the limit of processes",
            cause: String(cString: strerror(result)))
        }
        return
      }
      threads.append(thread)
    }
  }

  /// Waits until every body has returned.
  func join() {
    for thread in threads { pthread_join(thread, nil) }
    threads = []
  }

  deinit { join() }

  fileprivate static func run(_ context: UnsafeMutableRawPointer) {
    let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
    start.body(start.number)
  }
}

private func runWorker(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let context { WorkerThreads.run(context) }
  return nil
}
