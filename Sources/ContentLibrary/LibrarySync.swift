import FileIO

/// Makes what installs have written durable; those that wait at the same time share one sync.
///
/// One folder alone is synced by itself. As soon as there are more, the whole file system is, which
/// costs about as much as one folder. From any thread.
struct LibrarySync: Sendable {
  private let step = SharedStep<Request>()

  private struct Request: Sendable {
    let folder: Directory
    let isWholeFileSystem: Bool
  }

  /// Returns once the names in `folder` are durable.
  func names(in folder: Directory) throws { try join(folder, isWholeFileSystem: false) }

  /// Returns once everything on the file system of `folder` is durable, bytes and names.
  func everything(around folder: Directory) throws { try join(folder, isWholeFileSystem: true) }

  private func join(_ folder: Directory, isWholeFileSystem: Bool) throws {
    try step.join(Request(folder: folder, isWholeFileSystem: isWholeFileSystem)) { requests in
      let outcome = Result { try Self.sync(requests) }
      return requests.map { _ in outcome }
    }
  }

  private static func sync(_ requests: [Request]) throws {
    guard let first = requests.first else { return }
    if requests.count > 1 || first.isWholeFileSystem {
      try first.folder.syncFileSystem()
    } else {
      try first.folder.sync()
    }
  }
}
