import HostedModel
import HostedFileIO

/// A folder that was moved into staging to be removed.
///
/// It still uses space. The next start deletes the folders that a process has left.
package struct RemovedTree: Sendable {
  /// The folder's name in staging.
  let name: String
  /// The error, if the journal could not be updated.
  var journalError: ContentError?

  /// The target for a folder of `subject` (see `StagingName`) with this status.
  init(_ status: FileStatus, of subject: String) throws {
    name = try StagingName.removal(of: subject, inode: status.identity.inode)
  }
}

/// Versions that a collection has moved out of their place.
package struct CollectedVersions: Sendable {
  var report = CollectionReport()
  var trees: [RemovedTree] = []
  /// The error that ended the collection early.
  var error: (any Error)?
}

extension ContentLibrary {
  /// Moves the staging of download `id` away, so that the download can start again.
  ///
  /// Returns nil if the staging folder does not exist.
  package func setAsideStaging(for id: String) throws -> RemovedTree? {
    let name = try StagingName.checked(id)
    let tree = try folder.staging.status(of: name).map { try RemovedTree($0, of: id) }
    if let tree { try folder.staging.rename(name, to: folder.staging, tree.name) }
    trust.forget(id)
    return tree
  }
}

extension LibraryFolder {
  /// Deletes removed folders from staging.
  ///
  /// Returns whether it found any. `sync` makes the file system durable first. Otherwise, a power
  /// failure could restore a version's name without its files.
  package func deleteRemoved(after sync: () throws -> Void) throws -> Bool {
    let removed = try staging.entries().filter {
      $0.kind == .directory && StagingName.isRemoval($0.name)
    }
    guard !removed.isEmpty else { return false }
    try sync()
    for entry in removed { try staging.removeTree(entry) }
    return true
  }
}
