import FileIO
import Foundation
import TestSupport

/// Holds the threads that come to it until it is opened.
final class Gate: Sendable {
  private let reached = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  /// A file system that waits before the first operation on a path with `suffix`.
  func fileSystem(closedAt suffix: String) -> FileSystem {
    FileSystem { [self] operation, path in
      if operation == .write, path.hasSuffix(suffix) { wait() }
    }
  }

  /// Returns once the gate is open.
  func wait() {
    reached.signal()
    opened.wait()
    opened.signal()
  }

  /// Returns once a thread waits at the gate.
  func waitUntilReached() async {
    await onOwnThread { self.reached.wait() }
  }

  /// Lets everybody through, now and later.
  func open() { opened.signal() }
}
