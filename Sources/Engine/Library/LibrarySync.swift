import HostedConcurrency
import HostedFileIO

/// Makes the writes of installs durable.
///
/// Requests that wait at the same time share one sync. A single folder is synced alone. Several
/// folders are synced with the whole file system, which costs about as much as one folder.
/// Thread-safe.
struct LibrarySync: Sendable {
  /// A request is the folder to sync, or nil for everything.
  private let step: GroupCommit<Directory?>
  private let folder: LibraryFolder
  private let trust: StagingTrust

  init(_ folder: LibraryFolder, _ trust: StagingTrust, _ makeSignal: @escaping MakeThreadSignal) {
    self.folder = folder
    self.trust = trust
    step = GroupCommit(makeSignal)
  }

  /// Returns after the names in `folder` are durable.
  func names(in folder: Directory) throws { try join(folder) }

  /// Returns after all data and names on the library's file system are durable.
  func everything() throws { try join(nil) }

  private func join(_ folder: Directory?) throws {
    try step.join(folder) { folders in
      let outcome = Result { try sync(folders) }
      return folders.map { _ in outcome }
    }
  }

  private func sync(_ folders: [Directory?]) throws {
    if folders.count == 1, let folder = folders[0] { return try folder.sync() }
    do {
      try folder.sync()
    } catch {
      trust.noteFailure(error)
      throw error
    }
  }
}
