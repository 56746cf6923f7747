import HostedConcurrency
package import HostedModel
import HostedFileIO

/// Removes, pins and collects versions. Versions with a lease are never removed.
extension ContentLibrary {
  /// Moves a version out of its place.
  ///
  /// `delete` then frees its space, which may take long. If `current` names the version, it first
  /// switches to the newest other version, or is removed. The change is durable on return. If it
  /// throws, nothing has changed. A crash leaves the version in its place, maybe with `current`
  /// already switched, or moved away, and then the next start deletes it. Throws `contentInUse`
  /// while a process has a lease on the version, and `notInstalled`.
  package func takeOut(_ content: ProductIdentifier, _ version: ContentVersion) throws
    -> RemovedTree
  {
    try contentLocks.withLock(for: content) {
      try checkInstalled(content, version)
      let home = try folder.products.directory(content.rawValue)
      let versionFolder = try home.directory(version.rawValue)
      // Closing the folder's descriptor releases the lock.
      defer { withExtendedLifetime(versionFolder) {} }
      guard try versionFolder.tryLock(alone: true) else {
        throw ContentError.inUse(content, version)
      }
      var tree = try RemovedTree(
        versionFolder.status(), of: StagingName.subject(of: content, version))
      do {
        try move(content, version, in: home, to: tree)
      } catch let error as ContentError where error.code == .diskFull {
        // On some file systems, a new name or link needs space.
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

  /// Undoes a failed move; if that fails too, the next start completes the removal.
  private func putBack(
    _ version: ContentVersion, isCurrent: Bool, in home: Directory, from tree: RemovedTree
  ) {
    try? folder.staging.renameWithoutReplacing(tree.name, to: home, version.rawValue)
    guard let status = try? home.status(of: version.rawValue), status.kind == .directory else {
      return
    }
    if isCurrent { try? pointCurrent(of: home, to: version) } else { try? home.sync() }
  }

  /// Removes a version from the journal after its folder was moved away.
  ///
  /// An error does not undo the move. If the journal cannot be written now, the next start removes
  /// the record.
  private func forget(
    _ content: ProductIdentifier, _ version: ContentVersion, _ tree: RemovedTree
  ) -> ContentError? {
    do {
      do {
        try journal.forget(content, version)
      } catch let error as ContentError where error.code == .diskFull {
        // Delete now, because this frees the space that the journal needs.
        try? folder.staging.removeTree(tree.name)
        try journal.forget(content, version)
      }
      return nil
    } catch {
      return ContentError(error, while: "removing \(content) \(version)")
    }
  }

  /// Frees the space of a removed version; if this fails, the next start tries again.
  package func delete(_ tree: RemovedTree) throws {
    try folder.staging.removeTree(tree.name)
    if let error = tree.journalError { throw error }
  }

  /// Makes an installed version the current one; it may be newer or older.
  package func use(_ version: ContentVersion, of content: ProductIdentifier) throws {
    try contentLocks.withLock(for: content) {
      try checkInstalled(content, version)
      try pointCurrent(of: folder.products.directory(content.rawValue), to: version)
    }
  }

  /// Moves the versions that `policy` does not keep out of their place.
  ///
  /// `needed` has versions of unfinished downloads. A content that cannot be read or removed stays,
  /// and the report says why.
  package func takeOut(_ policy: CollectionPolicy, protecting needed: Set<ContentKey> = []) throws
    -> CollectedVersions
  {
    var collected = CollectedVersions()
    var folderErrors = FolderErrors()
    let candidates = try candidates(needed, &folderErrors)
    collected.report.bytesLeft = candidates.reduce(0) { $0 + $1.content.size }
    let plan = policy.plan(candidates)
    do {
      for content in plan.surplus {
        try folderErrors.collect { try takeOut(content, &collected) }
      }
      for content in plan.overQuota {
        guard let quota = policy.maximumBytes, collected.report.bytesLeft > quota else { break }
        try folderErrors.collect { try takeOut(content, &collected) }
      }
    } catch {
      // Thrown after the versions taken out so far are deleted.
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
      // Its folder was removed manually. The next start forgets it.
      collected.report.bytesLeft -= content.size
    }
  }

  /// Frees the space of collected versions; the report lists what cannot be deleted.
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
        // The next start forgets what was removed manually.
        guard let home = try home(of: name), let status = try home.status(of: version.rawValue),
          status.kind == .directory
        else { return }
        candidates.append(
          (
            content: content,
            isCurrent: try Self.current(in: home)?.rawValue == version.rawValue,
            isProtected: protected.contains(ContentKey(name, version: version)),
            lastUse: status.accessed
          ))
      }
    }
    return candidates
  }
}

extension ContentError {
  /// The error for a version, or the current version, that another process has locked.
  static func inUse(_ content: ProductIdentifier, _ version: ContentVersion?) -> ContentError {
    ContentError(
      .contentInUse, "\(name(content, version)) is in use by another process",
      remedy: "Try again after that process has ended", subject: content.rawValue)
  }

  private static func name(_ content: ProductIdentifier, _ version: ContentVersion?) -> String {
    version.map { "\(content) \($0)" } ?? "\(content)"
  }

  /// The error for a version, or any version, that is not in the library.
  package static func notInstalled(
    _ content: ProductIdentifier, _ version: ContentVersion?
  ) -> ContentError {
    ContentError(
      .notInstalled, "\(name(content, version)) is not installed",
      remedy: "Check the name and version, or install it first", subject: content.rawValue)
  }
}
