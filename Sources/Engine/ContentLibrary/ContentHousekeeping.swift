import Concurrency
package import ContentModel
import FileIO

/// Removing, pinning and collecting; never what a lease holds.
extension ContentLibrary {
  /// Removes a version and its folder, as `takeOut` and `delete` do.
  package func remove(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try delete(takeOut(content, version))
  }

  /// Moves a version out of its place; `delete` then frees its space, which may take long.
  ///
  /// `current` first names the newest other version, or nothing. It is durable when it returns, and
  /// if it throws, everything is as it was. After a crash at any instant one of both holds, and the
  /// next start deletes what was moved. Throws `contentInUse` while a process has a lease on it,
  /// and `notInstalled`.
  package func takeOut(_ content: ProductIdentifier, _ version: ContentVersion) throws
    -> RemovedTree
  {
    try contentLocks.withLock(for: content) {
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
      var tree = try RemovedTree(
        doomed.status(), of: StagingName.subject(of: content, version))
      do {
        try move(content, version, in: home, to: tree)
      } catch let error as ContentError where error.code == .diskFull {
        // On some file systems a new name or link needs space.
        guard SpaceReserve(in: folder.root).release() else { throw error }
        try move(content, version, in: home, to: tree)
      }
      tree.journalError = forget(content, version, tree)
      return tree
    }
  }

  private func move(
    _ content: ProductIdentifier, _ version: ContentVersion, in home: Directory,
    to tree: RemovedTree
  ) throws {
    let isCurrent = try Self.current(in: home)?.rawValue == version.rawValue
    let others = try journal.installed(content).filter {
      try isCurrent && $0.version.rawValue != version.rawValue && hasFolder($0)
    }
    do {
      if isCurrent { try pointCurrent(of: home, to: others.map(\.version).max()) }
      try home.rename(version.rawValue, to: folder.staging, tree.name)
      try home.sync()
    } catch {
      putBack(version, isCurrent: isCurrent, in: home, from: tree)
      throw error
    }
  }

  /// Undoes a move that failed; if this fails, too, the next start completes the removal.
  private func putBack(
    _ version: ContentVersion, isCurrent: Bool, in home: Directory, from tree: RemovedTree
  ) {
    try? folder.staging.renameWithoutReplacing(tree.name, to: home, version.rawValue)
    guard let status = try? home.status(of: version.rawValue), status.kind == .directory else {
      return
    }
    if isCurrent { try? pointCurrent(of: home, to: version) } else { try? home.sync() }
  }

  /// Has the journal forget a version that is out of its place; an error does not bring it back.
  ///
  /// The next start forgets it if the journal cannot be written now.
  private func forget(
    _ content: ProductIdentifier, _ version: ContentVersion, _ tree: RemovedTree
  ) -> ContentError? {
    do {
      try journal.forget(content, version)
    } catch let error as ContentError where error.code == .diskFull {
      // Deleted here, since this frees the space that the journal needs.
      try? folder.staging.removeTree(tree.name)
      try? journal.forget(content, version)
    } catch {
      return ContentError(error, while: "removing \(content) \(version)")
    }
    return nil
  }

  /// Frees the space of what was moved out of its place; the next start tries again if it fails.
  package func delete(_ tree: RemovedTree) throws {
    try folder.staging.removeTree(tree.name)
    if let error = tree.journalError { throw error }
  }

  /// Makes an installed version the current one, newer or older than the one that was.
  package func use(_ version: ContentVersion, of content: ProductIdentifier) throws {
    try contentLocks.withLock(for: content) {
      guard try isInstalled(content, version) else {
        throw ContentError.notInstalled(content, version)
      }
      try pointCurrent(of: folder.products.directory(content.rawValue), to: version)
    }
  }

  /// Moves what `policy` lets go out of its place; `needed` has versions of unfinished downloads.
  ///
  /// A content that cannot be looked into or removed stays, and the report says why.
  package func takeOut(_ policy: CollectionPolicy, protecting needed: Set<ContentKey> = []) throws
    -> CollectedVersions
  {
    var collected = CollectedVersions()
    var folderErrors = FolderErrors()
    let candidates = try candidates(needed, &folderErrors)
    collected.report.bytesLeft = candidates.reduce(0) { $0 + $1.content.size }
    let plan = policy.plan(candidates)
    do {
      for candidate in plan.surplus {
        try folderErrors.collect { try takeOut(candidate.content, &collected) }
      }
      for candidate in plan.overQuota {
        guard let quota = policy.maximumBytes, collected.report.bytesLeft > quota else { break }
        try folderErrors.collect { try takeOut(candidate.content, &collected) }
      }
    } catch {
      // Thrown after what was taken out until then is deleted.
      collected.error = error
    }
    collected.report.failures = folderErrors.errors
    return collected
  }

  private func takeOut(_ content: InstalledContent, _ collected: inout CollectedVersions) throws {
    do {
      collected.trees.append(try takeOut(content.contentIdentifier, content.version))
      collected.report.removed.append(content)
      collected.report.bytesLeft -= content.size
    } catch let error as ContentError where error.code == .contentInUse {
      collected.report.leased.append(content)
    } catch let error as ContentError where error.code == .notInstalled {
      // Somebody has removed its folder by hand; the next start forgets it.
      collected.report.bytesLeft -= content.size
    }
  }

  /// Frees the space of collected versions; what cannot be deleted is among the report's failures.
  package func delete(_ collected: CollectedVersions) throws -> CollectionReport {
    var report = collected.report
    for tree in collected.trees {
      do {
        try delete(tree)
      } catch {
        report.failures.append(ContentError(error, while: "deleting \(tree.name)"))
      }
    }
    if let error = collected.error { throw error }
    return report
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
