package import HostedFileIO
package import HostedModel
import Glibc
import HostedConcurrency

/// Makes the n-th operation fail, and counts operations.
///
/// For loops until no operation fails.
package final class FaultPlan: Sendable {
  private let state: Mutex<State>
  private let error: any Error
  /// Whether an operation on a path counts.
  private let isCounted: @Sendable (FileOperation, String) -> Bool

  private struct State {
    var countdown: Int
    var hasFired = false
    var count = 0
  }

  /// Makes operation number `n` (from 1) of those that count fail with `diskFull`, once.
  ///
  /// With 0, no operation fails.
  package init(
    failing n: Int,
    counting isCounted: @escaping @Sendable (FileOperation, String) -> Bool = { _, _ in true }
  ) {
    state = Mutex(State(countdown: n))
    error = FaultPlan.diskFull
    self.isCounted = isCounted
  }

  /// Makes the n-th operation (from 1) that can fail with `number` fail this way, once.
  package init(failing n: Int, as number: Int32) {
    state = Mutex(State(countdown: n))
    error = SystemFailure(number)
    let operations: Set<FileOperation> =
      switch number {
      case ENOSPC: [.create, .createDirectory, .write, .sync, .rename, .link, .journal]
      case EMFILE: [.open, .create, .createDirectory, .list, .journal]
      default: Set(FileOperation.allCases)
      }
    isCounted = { operation, _ in operations.contains(operation) }
  }

  package static let diskFull = ContentError(
    .diskFull, "The test's disk is full", remedy: "Free space on it")

  /// A file system whose operations are counted and fail as planned.
  package var fileSystem: FileSystem {
    FileSystem { [self] operation, path in try willPerform(operation, path) }
  }

  package var hasFired: Bool { state.withLock { $0.hasFired } }
  package var count: Int { state.withLock { $0.count } }

  private func willPerform(_ operation: FileOperation, _ path: String) throws {
    guard isCounted(operation, path) else { return }
    let fires = state.withLock { state in
      state.count += 1
      state.countdown -= 1
      if state.countdown == 0 { state.hasFired = true }
      return state.countdown == 0
    }
    guard fires else { return }
    throw (error as? ContentError)?.about("\(operation) \(path)") ?? error
  }
}

extension FileSystem {
  /// The real file system, except that each `operation` on a path with this end fails.
  package static func failing(
    _ operation: FileOperation, at suffix: String = "", as error: any Error = FaultPlan.diskFull
  ) -> FileSystem {
    FileSystem { performed, path in
      guard performed == operation, path.hasSuffix(suffix) else { return }
      throw (error as? ContentError)?.about(path) ?? error
    }
  }
}

/// Interrupts each operation once, as a signal would interrupt its system call.
package final class Interruptions: Sendable {
  private let state = Mutex((interrupted: Set<UInt>(), count: 0))

  package init() {}

  /// The number of interruptions.
  package var count: Int { state.withLock { $0.count } }

  package var fileSystem: FileSystem {
    FileSystem { [self] _, _ in
      let thread = UInt(pthread_self())
      let isSecond = state.withLock { state in
        if state.interrupted.remove(thread) != nil { return true }
        state.interrupted.insert(thread)
        state.count += 1
        return false
      }
      if !isSecond { throw SystemFailure(EINTR) }
    }
  }
}

/// A disk that is full while a test says so.
package final class FullDisk: Sendable {
  private let isFull = Mutex(false)

  package init() {}

  package func set(_ full: Bool) { isFull.withLock { $0 = full } }

  /// A file system in which all operations that need space fail while the disk is full.
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
