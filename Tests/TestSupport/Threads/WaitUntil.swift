import Glibc

/// Blocks the thread until `condition` is true.
///
/// For what another program or a deallocation changes. For what the test itself changes, use a
/// semaphore or `Watched`, which do not poll.
///
/// Looks again after `interval` microseconds.
package func blockUntil(
  every interval: UInt32 = 500, _ condition: () throws -> Bool
) rethrows {
  while try !condition() { usleep(interval) }
}

/// Suspends the task until `condition` is true, or until a time limit cancels the task.
package func waitUntil(_ condition: () throws -> Bool) async rethrows {
  while try !condition(), !Task.isCancelled { try? await Task.sleep(for: .microseconds(500)) }
}

extension ChildProcess {
  /// Blocks until `condition` is true or the process has ended.
  package func wait(until condition: () throws -> Bool) rethrows {
    // Conditions often read a file, and programs take longer to start.
    try blockUntil(every: 2_000) { try !isRunning || condition() }
  }
}
