import Concurrency
import FileIO

/// Makes what installs have written durable; those that wait at the same time share one sync.
///
/// One folder alone is synced by itself. As soon as there are more, the whole file system is, which
/// costs about as much as one folder. From any thread.
struct LibrarySync: Sendable {
  private enum Request: Sendable {
    case names(Directory)
    case everything
  }

  private let step: GroupCommit<Request>
  /// The one descriptor through which the file system is synced: an error is told once to each that
  /// was open at the time, so others could miss it.
  private let staging: Directory
  private let trust: StagingTrust

  init(_ folder: LibraryFolder, _ trust: StagingTrust, _ makeSignal: @escaping MakeThreadSignal) {
    staging = folder.staging
    self.trust = trust
    step = GroupCommit(makeSignal)
  }

  /// Returns once the names in `folder` are durable.
  func names(in folder: Directory) throws { try join(.names(folder)) }

  /// Returns once everything on the library's file system is durable, bytes and names.
  func everything() throws { try join(.everything) }

  private func join(_ request: Request) throws {
    try step.join(request) { requests in
      let outcome = Result { try sync(requests) }
      return requests.map { _ in outcome }
    }
  }

  private func sync(_ requests: [Request]) throws {
    if requests.count == 1, case .names(let folder) = requests[0] { return try folder.sync() }
    guard !requests.isEmpty else { return }
    do {
      try staging.syncFileSystem()
    } catch {
      trust.noteFailure(error)
      throw error
    }
  }
}
