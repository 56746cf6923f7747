import FileIO
import Foundation
import Concurrency
import TestSupport

/// Holds the threads that come to it until it is opened.
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

  /// A file system that holds the first thread that comes to an operation that `isHeld`.
  ///
  /// A test that waits for what this thread keeps from happening goes on after a minute, and fails.
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

  /// Whether a thread went on before the test let it.
  var hasGivenUp: Bool { state.load(ordering: .relaxed) == .givenUp }

  /// Whether the test has let everybody through.
  var isOpen: Bool { state.load(ordering: .relaxed) == .open }

  /// Returns once a thread waits at the gate.
  func waitUntilReached() async {
    await onOwnThread { self.reached.wait() }
  }

  /// Lets everybody through, now and later.
  func open() {
    state.store(.open, ordering: .relaxed)
    opened.signal()
  }
}
