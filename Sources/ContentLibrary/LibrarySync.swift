import FileIO
import Locks

/// Makes what installs have written durable; those that wait at the same time share one sync.
///
/// One folder alone is synced by itself. As soon as there are more, the whole file system is, which
/// costs about as much as one folder. From any thread.
final class LibrarySync: Sendable {
  private let root: Directory
  private let step: SharedStep<Request>
  private let failureCount = Mutex(0)

  /// What is to be durable: the names in a folder, or everything.
  private enum Request: Sendable {
    case names(in: Directory)
    case everything
  }

  /// `root` is any folder of the file system, open since before anything was written there.
  ///
  /// The system tells of a page that it could not write once to each descriptor that was open then,
  /// so the same one is used for all; `failures` counts for those whom it did not tell.
  init(_ root: Directory, turn: any Turn) {
    self.root = root
    step = SharedStep(turn: turn)
  }

  /// How often everything could not be made durable so far.
  var failures: Int { failureCount.withLock { $0 } }

  /// Returns once the names in `folder` are durable.
  func names(in folder: Directory) throws { try join(.names(in: folder)) }

  /// Returns once everything on the file system is durable, bytes and names.
  func everything() throws { try join(.everything) }

  private func join(_ request: Request) throws {
    try step.join(request) { requests in
      let outcome = Result { try sync(requests) }
      return requests.map { _ in outcome }
    }
  }

  private func sync(_ requests: [Request]) throws {
    if requests.count == 1, case .names(let folder)? = requests.first { return try folder.sync() }
    do {
      try root.syncFileSystem()
    } catch {
      failureCount.withLock { $0 += 1 }
      throw error
    }
  }
}
