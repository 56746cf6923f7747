package import ContentModel
import FileIO
import Glibc

/// The promise that a version's folder stays, held by whoever uses it; across processes.
///
/// A shared flock(2) on the folder: it ends with the lease, or with the process.
package final class ContentLease: Sendable {
  /// The version that is held.
  package let version: ContentVersion
  /// The path of its folder, valid for as long as the lease is held.
  package let path: String
  private let folder: Directory

  /// Takes a lease on `version`; nil when it is not there or being removed.
  init?(of version: ContentVersion, in home: Directory) throws {
    guard try home.status(of: version.rawValue)?.kind == .directory else { return nil }
    let folder = try home.directory(version.rawValue)
    guard try folder.tryLock(alone: false) else { return nil }
    // It may have been removed between opening and locking.
    guard try home.status(of: version.rawValue)?.identity.inode == folder.status().identity.inode
    else { return nil }
    folder.touch()
    self.version = version
    self.folder = folder
    path = folder.path
  }
}

extension ContentLibrary {
  /// Takes a lease on a version, or on the current one.
  ///
  /// Throws `notInstalled` when there is none, and `contentInUse` when another process keeps an
  /// exclusive lock on it, which any user who may read it can take.
  package func lease(_ content: ProductIdentifier, _ version: ContentVersion? = nil) throws
    -> ContentLease
  {
    // A version that is removed in this moment is followed by another current one; its remover
    // holds the folder for some syncs before that.
    var isLocked = false
    for attempt in 0..<100 {
      if attempt > 0 { usleep(10_000) }
      isLocked = false
      guard try folder.products.status(of: content.rawValue)?.kind == .directory,
        let wanted = try version ?? currentVersion(of: content)
      else { break }
      let home = try folder.products.directory(content.rawValue)
      if let lease = try ContentLease(of: wanted, in: home) { return lease }
      isLocked = try home.status(of: wanted.rawValue) != nil
      if version != nil, !isLocked { break }
    }
    if isLocked { throw ContentError.inUse(content, version) }
    throw ContentError(
      .notInstalled, "\(content) \(version?.rawValue ?? "") is not installed",
      remedy: "Get it first, or check the name and version", subject: content.rawValue)
  }
}
