package import HostedModel
import HostedFileIO

/// A lease on a version's folder: the folder stays while a process uses it.
///
/// It is a shared flock(2) lock on the folder. It ends when the lease is released or the process
/// ends.
package final class ContentLease: Sendable {
  package let version: ContentVersion
  /// The path of the version's folder; it is valid while the lease exists.
  package var path: String { folder.path }
  private let folder: Directory

  /// Takes a lease on `version`; nil if it does not exist or is being removed.
  init?(of version: ContentVersion, in home: Directory) throws {
    guard let folder = try nilIf(.fileMissing, body: { try home.directory(version.rawValue) }),
      try folder.tryLock(alone: false)
    else { return nil }
    // It may have been removed between opening and locking.
    guard try home.status(of: version.rawValue)?.identity.inode == folder.status().identity.inode
    else { return nil }
    folder.touch()
    self.version = version
    self.folder = folder
  }
}
