import HostedFileIO
import Foundation
import HostedConcurrency
import HostedTestSupport

/// Blocks threads until it is opened.
final class Gate: Sendable {
  private let reached = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)
  private let state = Atomic(State.closed)

  private enum State: UInt8, AtomicRepresentable {
    case closed, held, givenUp, open
  }

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

  /// A file system that blocks the first thread whose operation `isHeld` selects.
  ///
  /// If the test waits for something that the blocked thread prevents, the thread continues after a
  /// minute and the test fails.
  func fileSystem(_ isHeld: @escaping @Sendable (FileOperation, String) -> Bool) -> FileSystem {
    FileSystem { [self] operation, path in
      guard isHeld(operation, path),
        state.compareExchange(expected: .closed, desired: .held, ordering: .relaxed).exchanged
      else { return }
      reached.signal()
      if opened.wait(timeout: .now() + 60) == .timedOut {
        state.store(.givenUp, ordering: .relaxed)
      }
    }
  }

  /// Whether a thread continued before the test released it.
  var hasGivenUp: Bool { state.load(ordering: .relaxed) == .givenUp }

  /// Whether the test has opened the gate.
  var isOpen: Bool { state.load(ordering: .relaxed) == .open }

  /// Returns when a thread is blocked.
  func waitUntilReached() async {
    await onOwnThread { self.reached.wait() }
  }

  /// Releases all threads, now and later.
  func open() {
    state.store(.open, ordering: .relaxed)
    opened.signal()
  }
}
