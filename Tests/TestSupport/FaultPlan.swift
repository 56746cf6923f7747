package import FileIO
package import ContentModel
import Locks

/// Makes the n-th operation fail, and counts operations; for loops until none fires.
package final class FaultPlan: Sendable {
  private let state: Mutex<State>
  private let error: ContentError

  private struct State {
    var countdown: Int
    var hasFired = false
    var operations = 0
  }

  /// Makes operation number `n` (from 1) fail with `error`, once; 0 makes none fail.
  package init(failing n: Int, with error: ContentError = FaultPlan.diskFull) {
    state = Mutex(State(countdown: n))
    self.error = error
  }

  package static let diskFull = ContentError(
    .diskFull, "The test's disk is full", remedy: "Free space on it")

  /// A file system whose operations are counted and fail as planned.
  package var fileSystem: FileSystem {
    FileSystem { [self] operation, path in try willPerform(operation, path) }
  }

  package var hasFired: Bool { state.withLock { $0.hasFired } }
  package var operations: Int { state.withLock { $0.operations } }

  private func willPerform(_ operation: FileOperation, _ path: String) throws {
    let fires = state.withLock { state in
      state.operations += 1
      state.countdown -= 1
      if state.countdown == 0 { state.hasFired = true }
      return state.countdown == 0
    }
    if fires { throw error.about("\(operation) \(path)") }
  }
}

/// A disk that is full for as long as a test says so.
package final class FullDisk: Sendable {
  private let isFull = Mutex(false)

  package init() {}

  package func set(_ full: Bool) { isFull.withLock { $0 = full } }

  /// A file system in which everything that takes room fails while the disk is full.
  package var fileSystem: FileSystem {
    FileSystem { [self] operation, path in
      switch operation {
      case .create, .createDirectory, .write, .link, .journal:
        if isFull.withLock({ $0 }) { throw FaultPlan.diskFull.about(path) }
      case .open, .read, .sync, .rename, .remove, .list, .status, .lock: break
      }
    }
  }
}
