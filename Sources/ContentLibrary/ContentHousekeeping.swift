package import ContentModel
import FileIO

/// Removing, pinning and collecting; never what a lease holds.
extension ContentLibrary {
  /// Removes a version and its folder; durable and old or new at any instant.
  ///
  /// `current` first names the newest other version, or goes. Throws `contentInUse` while a
  /// process holds a lease on it, `notInstalled` when it is not there.
  package func remove(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try folder.staging.removeTree(turns.withTurn(of: content) { try takeOut(content, version) })
  }

  /// Moves a version into staging, whose leftovers the next start removes; returns its name there.
  private func takeOut(_ content: ProductIdentifier, _ version: ContentVersion) throws -> String {
    guard try isInstalled(content, version) else {
      throw ContentError.notInstalled(content, version)
    }
    let home = try folder.products.directory(content.rawValue)
    let doomed = try home.directory(version.rawValue)
    // The lock ends with the folder's descriptor.
    defer { withExtendedLifetime(doomed) {} }
    guard try doomed.tryLock(alone: true) else {
      throw ContentError.inUse(content, version)
    }
    if try currentVersion(of: content) == version {
      let others = try journal.installed(content).filter {
        try $0.version != version && hasFolder($0)
      }
      try pointCurrent(of: home, to: others.map(\.version).max())
    }
    let inode = try doomed.status().identity.inode
    let name = try StagingName(removing: content, version, inode: inode).rawValue
    try folder.staging.removeTree(name)
    try home.rename(version.rawValue, to: folder.staging, name)
    try home.sync()
    try journal.forget(content, version)
    return name
  }

  /// Makes an installed version the current one, newer or older than the one that was.
  package func use(_ version: ContentVersion, of content: ProductIdentifier) throws {
    try turns.withTurn(of: content) {
      guard try isInstalled(content, version) else {
        throw ContentError.notInstalled(content, version)
      }
      try pointCurrent(of: folder.products.directory(content.rawValue), to: version)
    }
  }

  /// Removes what `policy` lets go; `protecting` names versions that unfinished downloads need.
  ///
  /// A content that cannot be looked into or removed stays, and the report says why.
  package func collect(
    _ policy: CollectionPolicy, protecting needed: Set<ContentKey> = []
  ) throws -> CollectionReport {
    var report = CollectionReport()
    var folderErrors = FolderErrors()
    let candidates = try candidates(needed, &folderErrors)
    report.bytesLeft = candidates.reduce(0) { $0 + $1.content.size }
    let plan = policy.plan(candidates)
    for candidate in plan.surplus {
      try folderErrors.collect { try collect(candidate.content, &report) }
    }
    for candidate in plan.overQuota {
      guard let quota = policy.maximumBytes, report.bytesLeft > quota else { break }
      try folderErrors.collect { try collect(candidate.content, &report) }
    }
    report.failures = folderErrors.errors
    return report
  }

  private func collect(_ content: InstalledContent, _ report: inout CollectionReport) throws {
    do {
      try remove(content.contentIdentifier, content.version)
      report.removed.append(content)
      report.bytesLeft -= content.size
    } catch let error as ContentError where error.code == .contentInUse {
      report.leased.append(content)
    } catch let error as ContentError where error.code == .notInstalled {
      // Somebody has removed its folder by hand; the next start forgets it.
      report.bytesLeft -= content.size
    }
  }

  private func candidates(
    _ needed: Set<ContentKey>, _ folderErrors: inout FolderErrors
  ) throws -> [CollectionCandidate] {
    let protected = try journal.pins().union(needed)
    var candidates: [CollectionCandidate] = []
    for content in try journal.installed() {
      try folderErrors.collect {
        let (name, version) = (content.contentIdentifier, content.version)
        // What somebody has removed is forgotten by the next start.
        guard try folder.products.status(of: name.rawValue)?.kind == .directory else { return }
        let home = try folder.products.directory(name.rawValue)
        guard let status = try home.status(of: version.rawValue), status.kind == .directory
        else { return }
        candidates.append(
          CollectionCandidate(
            content: content,
            isCurrent: try Self.current(in: home)?.rawValue == version.rawValue,
            isProtected: protected.contains(ContentKey(name, version)), lastUse: status.accessed))
      }
    }
    return candidates
  }
}

extension ContentError {
  /// The error for a version, or for the current one, that another process has locked.
  static func inUse(_ content: ProductIdentifier, _ version: ContentVersion?) -> ContentError {
    ContentError(
      .contentInUse, "\(content) \(version.map { "\($0) " } ?? "")is in use by another process",
      remedy: "Try again when that process has ended", subject: content.rawValue)
  }

  /// The error for a version that is not in the library.
  package static func notInstalled(
    _ content: ProductIdentifier, _ version: ContentVersion
  ) -> ContentError {
    ContentError(
      .notInstalled, "\(content) \(version) is not installed",
      remedy: "hostedcontent list shows what is", subject: content.rawValue)
  }
}
