import HostedConcurrency
import HostedFileIO
import HostedModel

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

/// Tracks whether files in staging can be trusted to reach the disk.
///
/// After a failed sync, the kernel may mark pages as clean that were not written. They can be read
/// now, but are lost after a power failure. So after any failed sync, all files that were written
/// before are discarded, for every download, by this process or the next. Thread-safe.
final class StagingTrust: Sendable {
  private let state = Mutex(State())

  private struct State {
    var failures = 0
    var failure: ContentError?
    /// The number of failures when each download's staging was started.
    var begun: [String: Int] = [:]
  }

  func noteFailure(_ error: any Error) {
    let error = ContentError(error, while: "writing to the disk")
    state.withLock { state in
      state.failures += 1
      state.failure = error
    }
  }

  /// Whether a sync has failed in this process.
  var hasFailed: Bool { state.withLock { $0.failures > 0 } }

  /// Whether no sync has failed since download `id` was started, or since the process started.
  func isTrusted(_ id: String) -> Bool {
    state.withLock { $0.begun[id, default: 0] == $0.failures }
  }

  /// Records that download `id` starts with trusted or empty staging.
  func begin(_ id: String) { state.withLock { $0.begun[id] = $0.failures } }

  /// Throws the kind of error of the failed sync, if one failed since download `id` was started.
  func check(_ id: String) throws {
    guard !isTrusted(id) else { return }
    let failure = state.withLock { $0.failure }
    throw ContentError(
      failure?.code ?? .fileFailed,
      "Sync failed while \(id) was written: its files may not be on the disk",
      remedy: failure?.remedy ?? "Check the disk and try again", subject: id,
      cause: failure?.message)
  }

  /// Forgets a download whose staging was removed.
  func forget(_ id: String) { state.withLock { $0.begun[id] = nil } }
}
