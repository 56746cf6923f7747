import FileIO
import Foundation
import TestSupport

/// Holds the thread that comes to a path until a test lets it go on.
final class Gate: Sendable {
  private let reached = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  /// A file system that waits before the first operation on a path with `suffix`.
  func fileSystem(closedAt suffix: String) -> FileSystem {
    FileSystem { [self] operation, path in
      guard operation == .write, path.hasSuffix(suffix) else { return }
      reached.signal()
      opened.wait()
      opened.signal()
    }
  }

  /// Returns once a thread waits at the gate.
  func waitUntilReached() async {
    await onOwnThread { self.reached.wait() }
  }

  /// Lets everybody through, now and later.
  func open() { opened.signal() }
}
