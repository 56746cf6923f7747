package import HostedModel
import HostedFileIO
import Glibc

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

extension ContentLibrary {
  /// Takes a lease on a version, or on the current version.
  ///
  /// Throws `notInstalled` if it does not exist, and `contentInUse` if another process has an
  /// exclusive lock on it. Any user who can read the folder can take such a lock.
  package func lease(_ content: ProductIdentifier, version: ContentVersion? = nil) throws
    -> ContentLease
  {
    // After a version is removed, `current` names another one. Until then, the remover holds the
    // lock for some syncs.
    var isLocked = false
    for attempt in 0..<100 {
      if attempt > 0 { usleep(10_000) }
      isLocked = false
      guard let home = try home(of: content),
        let wanted = try version ?? Self.current(in: home)
      else { break }
      if let lease = try ContentLease(of: wanted, in: home) { return lease }
      isLocked = try home.status(of: wanted.rawValue) != nil
      if version != nil, !isLocked { break }
    }
    if isLocked { throw ContentError.inUse(content, version) }
    throw ContentError.notInstalled(content, version)
  }
}
