import Concurrency
import FileIO

/// Makes the writes of installs durable.
///
/// Requests that wait at the same time share one sync. A single folder is synced alone. Several
/// folders are synced with the whole file system, which costs about as much as one folder.
/// Thread-safe.
struct LibrarySync: Sendable {
  private enum Request: Sendable {
    case names(Directory)
    case everything
  }

  private let step: GroupCommit<Request>
  /// The only descriptor for syncing the file system.
  ///
  /// The kernel reports an error once to each open descriptor, so other descriptors could miss it.
  private let staging: Directory
  private let trust: StagingTrust

  init(_ folder: LibraryFolder, _ trust: StagingTrust, _ makeSignal: @escaping MakeThreadSignal) {
    staging = folder.staging
    self.trust = trust
    step = GroupCommit(makeSignal)
  }

  /// Returns after the names in `folder` are durable.
  func names(in folder: Directory) throws { try join(.names(folder)) }

  /// Returns after all data and names on the library's file system are durable.
  func everything() throws { try join(.everything) }

  private func join(_ request: Request) throws {
    try step.join(request) { requests in
      let outcome = Result { try sync(requests) }
      return requests.map { _ in outcome }
    }
  }

  private func sync(_ requests: [Request]) throws {
    if requests.count == 1, case .names(let folder) = requests[0] { return try folder.sync() }
    do {
      try staging.syncFileSystem()
    } catch {
      trust.noteFailure(error)
      throw error
    }
  }
}
