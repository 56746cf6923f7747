import ContentModel
import FileIO

/// A folder that was moved out of its place into staging, and still takes its space.
///
/// A start deletes those that a process has left.
package struct RemovedTree: Sendable {
  /// Its name in staging.
  let name: String
  /// Why the journal could not be told, if that failed.
  var journalError: ContentError?

  /// The place for a folder of `subject` (see `StagingName`) with this status.
  init(_ status: FileStatus, of subject: String) throws {
    name = try StagingName(removing: subject, inode: status.identity.inode).rawValue
  }
}

/// Versions that a collection has moved out of their places.
package struct CollectedVersions: Sendable {
  var report = CollectionReport()
  var trees: [RemovedTree] = []
  /// What ended it early.
  var error: (any Error)?
}

extension ContentLibrary {
  /// Moves what was fetched for download `id` aside, so that the download can begin anew; nil if
  /// there is nothing.
  package func setAsideStaging(for id: String) throws -> RemovedTree? {
    let name = try StagingName(id).rawValue
    let tree = try folder.staging.status(of: name).map { try RemovedTree($0, of: id) }
    if let tree { try folder.staging.rename(name, to: folder.staging, tree.name) }
    trust.forget(id)
    return tree
  }
}

extension LibraryFolder {
  /// Deletes what removals have left in staging; false if there was nothing.
  ///
  /// `sync` makes everything on the file system durable: otherwise a power failure could bring a
  /// version back into its place without its files.
  package func deleteRemoved(after sync: () throws -> Void) throws -> Bool {
    let removed = try staging.entries().filter {
      $0.kind == .directory && (try? StagingName($0.name))?.isRemoval == true
    }
    guard !removed.isEmpty else { return false }
    try sync()
    for entry in removed { try staging.removeTree(entry) }
    return true
  }
}
