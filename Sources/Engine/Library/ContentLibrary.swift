import Dispatch
import FoundationEssentials
import Glibc
package import HostedConcurrency
package import HostedFileIO
package import HostedModel
package import HostedPackage

/// Installed content on disk: staging, versions and the `current` links.
///
/// `products/<content>/<version>` appears with one rename after everything in it is durable. The
/// link `products/<content>/current` is replaced with another rename. So a version is complete or
/// absent. Thread-safe, but one content must be installed by one thread at a time.
package final class ContentLibrary: Sendable {
  package let folder: LibraryFolder
  package let journal: any InstallJournal
  /// Held while `current` of a content changes, and while a version is removed.
  ///
  /// Without it, `current` could be set to a version that another thread removes.
  private let contentLocks: KeyedLock<ProductIdentifier>
  private let durability: LibrarySync
  private let ledger: SpaceLedger
  private let trust = StagingTrust()

  static let currentName = "current"
  private static let newCurrentName = ".current.new"

  package init(
    _ folder: LibraryFolder, journal: any InstallJournal,
    makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent
  ) {
    self.folder = folder
    self.journal = journal
    contentLocks = KeyedLock(makeSignal)
    durability = LibrarySync(folder, trust, makeSignal)
    ledger = SpaceLedger(folder.root, makeSignal)
  }

  /// Opens a library without its journal, from which calls throw `refusal`.
  package convenience init(_ folder: LibraryFolder, refusal: ContentError) {
    self.init(folder, journal: InstalledTree(folder: folder, refusal: refusal))
  }

  // MARK: Staging

  /// The staging folder of download `id`.
  ///
  /// It is created if it does not exist. It is emptied if a sync has failed since it was filled
  /// (see `StagingTrust`).
  package func staging(for id: String) throws -> Directory {
    let name = try StagingName.checked(id)
    if !trust.isTrusted(id) { try folder.staging.removeTree(name) }
    trust.begin(id)
    return try folder.staging.createDirectory(name, mode: 0o700)
  }

  /// Makes a download's staging durable; if that fails, nothing of it is used again.
  private func sync(_ name: String, ofDownload id: String, in staging: Directory) throws {
    do {
      try durability.everything()
      try trust.check(id)
    } catch {
      // For the next process. In this process, `staging(for:)` checks it.
      try? staging.removeTree(name)
      throw error
    }
  }

  /// Writes the data written so far to disk.
  ///
  /// Blocks. Errors are ignored, because the sync at the end of an install reports them. Can be
  /// called from any thread.
  @Sendable package func writeback() { try? durability.everything() }

  package func discardStaging(for id: String) throws {
    try folder.staging.removeTree(StagingName.checked(id))
    trust.forget(id)
  }

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

  package func spaceReservation(for product: ProductIdentifier) -> SpaceReservation {
    SpaceReservation(ledger, product)
  }

  // MARK: Installing

  /// Moves the folder `name` of a download's staging into its place as `content` and sets
  /// `current`.
  ///
  /// The install is durable on return. Installs that run at the same time share their syncs. After
  /// a crash at any instant, `recover` finishes the install or leaves the staging unchanged.
  /// `current` never moves to an older version, except from one of the `withdrawn` versions. Unless
  /// `switching`, it is only set if it does not exist. `signers` is the digest of the keys that
  /// signed the files' digests; nil if the files were compared with the digests.
  package func install(
    _ name: String, ofDownload id: String, as content: InstalledContent, files: [InstalledFile],
    signers: Digest? = nil, switching: Bool = true, replacing withdrawn: [ContentVersion] = []
  ) throws {
    // Create it before the sync, which then also makes the folder's name durable.
    let home = try folder.products.createDirectory(content.contentIdentifier.rawValue)
    let staging = try folder.staging.directory(id)
    // For users who cannot read the journal.
    try staging.directory(name).setModified(content.date.timeIntervalSince1970)
    try sync(name, ofDownload: id, in: staging)
    // For a repair, the record must not change before the files do.
    let isRepair = try isInstalled(content.contentIdentifier, content.version)
    if !isRepair { try journal.announce(content, files: files, signers: signers) }
    try move(name, of: staging, to: home, as: content)
    try contentLocks.withLock(for: content.contentIdentifier) {
      if isRepair {
        // A download that was cancelled meanwhile does not keep its version from being removed.
        guard try isInstalled(content.contentIdentifier, content.version) else {
          try? home.rename(content.version.rawValue, to: staging, name)
          throw ContentError.notInstalled(content.contentIdentifier, content.version)
        }
        try journal.replace(content, files: files, signers: signers)
      }
      if try switching || Self.current(in: home) == nil {
        try switchCurrent(of: home, to: content.version, replacing: withdrawn)
      }
    }
    if !isRepair { try journal.confirm(content.contentIdentifier, content.version) }
  }

  /// Finishes an install of this version that failed after its folder was in place.
  ///
  /// Returns false if the install does not exist.
  package func finishInterrupted(
    _ content: ProductIdentifier, _ version: ContentVersion
  ) throws -> Bool {
    let announced = try journal.announced().first {
      $0.contentIdentifier == content && $0.version.rawValue == version.rawValue
    }
    // If the record is unreadable, the version is installed again.
    guard let announced, let files = try recordedFiles(of: announced) else { return false }
    return try confirmIfMoved(announced, files)
  }

  /// Moves a tree to its place.
  ///
  /// Durable on return. An existing folder is being repaired, or is unknown to the journal.
  private func move(
    _ name: String, of staging: Directory, to home: Directory, as content: InstalledContent
  ) throws {
    let version = content.version.rawValue
    let status = try home.status(of: version)
    if status?.kind == .directory {
      let place = try home.directory(version)
      try TreeReplacement.replace(place, by: staging.directory(name))
      try place.setModified(content.date.timeIntervalSince1970)
      try durability.everything()
    } else {
      if status != nil { try home.removeFile(version) }
      try staging.renameWithoutReplacing(name, to: home, version)
      try durability.names(in: home)
    }
  }

  // MARK: The link `current` of a content
  //
  // It only moves to a newer version, except from a withdrawn one, by `use`, and if its version is
  // removed.

  /// Makes an installed version the current one; it may be newer or older.
  package func use(_ version: ContentVersion, of content: ProductIdentifier) throws {
    try contentLocks.withLock(for: content) {
      try checkInstalled(content, version)
      try pointCurrent(of: folder.products.directory(content.rawValue), to: version)
    }
  }

  /// Makes an installed version current if the current one is older or one of the `withdrawn` ones.
  ///
  /// Throws `notInstalled` if it was removed in the meantime, which can happen if no download waits
  /// for it.
  package func advance(
    _ content: ProductIdentifier, to version: ContentVersion,
    replacing withdrawn: [ContentVersion] = []
  ) throws {
    try contentLocks.withLock(for: content) {
      try checkInstalled(content, version)
      let home = try folder.products.directory(content.rawValue)
      if try !switchCurrent(of: home, to: version, replacing: withdrawn) {
        // The link may come from a switch whose sync failed.
        try durability.names(in: home)
      }
    }
  }

  /// Like `advance`, for a version that is in place; returns false if `current` stays.
  @discardableResult
  private func switchCurrent(
    of home: Directory, to version: ContentVersion, replacing withdrawn: [ContentVersion]
  ) throws -> Bool {
    if let current = try Self.current(in: home), current >= version, !withdrawn.contains(current) {
      return false
    }
    try pointCurrent(of: home, to: version)
    return true
  }

  /// Makes `current` name `version`, or removes it for nil; one rename, durable on return.
  private func pointCurrent(of home: Directory, to version: ContentVersion?) throws {
    guard let version else {
      try home.removeFile(Self.currentName)
      return try durability.names(in: home)
    }
    try home.removeFile(Self.newCurrentName)
    try home.createLink(Self.newCurrentName, to: version.rawValue)
    try home.rename(Self.newCurrentName, to: home, Self.currentName)
    try durability.names(in: home)
  }

  /// The version that `current` names, if its folder exists; nil otherwise.
  package func currentVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    try home(of: content).flatMap { try Self.current(in: $0) }
  }

  /// The version that `current` names in a content's folder, if that version exists; nil otherwise.
  static func current(in home: Directory) throws -> ContentVersion? {
    var target = try home.link(currentName)
    while let name = target, let version = try? ContentVersion(validating: name) {
      if try home.status(of: name)?.kind == .directory { return version }
      // A removal switches `current` to another version before it removes this one.
      target = try home.link(currentName)
      if target == name { break }
    }
    return nil
  }

  /// The current version of every content that has one and is readable.
  package func currentVersions() throws -> [ProductIdentifier: ContentVersion] {
    var currents: [ProductIdentifier: ContentVersion] = [:]
    var folderErrors = FolderErrors()
    for content in Set(try journal.installed().map(\.contentIdentifier)) {
      try folderErrors.collect { currents[content] = try currentVersion(of: content) }
    }
    return currents
  }

  // MARK: Queries

  /// Whether this version is installed and confirmed, and its folder exists.
  ///
  /// The spelling must match: 1.0.0 equals 1.0, but has another folder name.
  package func isInstalled(_ content: ProductIdentifier, _ version: ContentVersion) throws -> Bool {
    try installed(content, version) != nil
  }

  /// The record of this version; nil if it is not installed.
  func installed(_ content: ProductIdentifier, _ version: ContentVersion) throws
    -> InstalledContent?
  {
    guard let record = try record(of: content, version), try hasFolder(record) else { return nil }
    return record
  }

  /// The record of this version, even if its folder was deleted; nil without a record.
  package func record(of content: ProductIdentifier, _ version: ContentVersion) throws
    -> InstalledContent?
  {
    try journal.installed(content).first { $0.version.rawValue == version.rawValue }
  }

  private func checkInstalled(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    guard try isInstalled(content, version) else {
      throw ContentError.notInstalled(content, version)
    }
  }

  func hasFolder(_ content: InstalledContent) throws -> Bool {
    try home(of: content.contentIdentifier)?.status(of: content.version.rawValue)?.kind
      == .directory
  }

  /// The folder of a content's versions; nil if it does not exist.
  func home(of content: ProductIdentifier) throws -> Directory? {
    try nilIf(.fileMissing) { try folder.products.directory(content.rawValue) }
  }

  /// The folder of a version; nil if it does not exist.
  func versionFolder(_ content: InstalledContent) throws -> Directory? {
    try nilIf(.fileMissing) {
      try home(of: content.contentIdentifier)?.directory(content.version.rawValue)
    }
  }

  /// The path of a version's folder, even if the folder does not exist.
  package func path(of content: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(folder.products.path)/\(content)/\(version)"
  }

  /// The recorded files of a version; nil if the record is unreadable.
  func recordedFiles(of content: InstalledContent) throws -> [InstalledFile]? {
    do {
      return try journal.files(of: content.contentIdentifier, content.version)
    } catch let error as ContentError where error.code == .journalFailed {
      return nil
    }
  }

  // MARK: Leases and reuse

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

  /// Returns up to three installed versions of the content whose unchanged files can be reused.
  ///
  /// The newest come first. Each is locked against removal while its tree is used. Recorded digests
  /// that were never compared with the files are trusted only if the same keys signed this offer.
  /// Otherwise content signed with a stolen key could outlive the key. A version whose record
  /// cannot be read is skipped.
  package func reusableTrees(for offer: ContentOffer) throws -> [ReusableTree] {
    let installed = try journal.installed(offer.contentIdentifier)
    return try installed.reversed().prefix(3).compactMap { content in
      guard let files = try recordedFiles(of: content) else { return nil }
      let signers = try journal.signers(of: content.contentIdentifier, content.version)
      return try reusableTree(
        of: content, files: files, isTrusted: signers == nil || signers == offer.signers)
    }
  }

  /// Returns the `files` of one installed version; nil if it is missing or being removed.
  package func reusableTree(
    of content: InstalledContent, files: [InstalledFile], isTrusted: Bool
  ) throws -> ReusableTree? {
    guard let root = try versionFolder(content), try root.tryLock(alone: false) else { return nil }
    return ReusableTree(root: root, files: files, isTrusted: isTrusted)
  }

  // MARK: Removal; versions with a lease are never removed

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

  // MARK: After a crash

  /// Makes folder and journal consistent after a crash.
  ///
  /// Called by the engine before any work. Installs that were announced and moved are finished.
  /// Others are forgotten, and their staging waits for the download. A version with an unreadable
  /// record is skipped: a repair or another install of the same version replaces the record.
  /// Removes the staging of downloads that are not in `downloads`, and of all after a failed sync,
  /// but no entry with a name that the library does not create. What cannot be removed stays, and a
  /// content with an unreadable folder does not change. The returned errors say why.
  package func recover(keeping downloads: Set<String>) throws -> [ContentError] {
    // First, because on a full disk the journal may need the space.
    var leftovers = try clearStaging(keeping: downloads)
    leftovers += try journal.unreadableContents()
    var folderErrors = FolderErrors()
    for content in try journal.announced() {
      let files: [InstalledFile]
      do {
        files = try journal.files(of: content.contentIdentifier, content.version)
      } catch let error as ContentError where error.code == .journalFailed {
        leftovers.append(error)
        continue
      }
      try folderErrors.collect {
        if try !confirmIfMoved(content, files) {
          try journal.forget(content.contentIdentifier, content.version)
        }
      }
    }
    try forgetMissing(&folderErrors)
    return leftovers + folderErrors.errors
  }

  private func clearStaging(keeping downloads: Set<String>) throws -> [ContentError] {
    var leftovers: [ContentError] = []
    var isCleared = true
    do {
      _ = try folder.deleteRemoved { try durability.everything() }
    } catch {
      leftovers.append(ContentError(error, while: "deleting removed versions"))
    }
    let isInDoubt = try trust.hasFailed || folder.isInDoubt()
    for entry in try folder.staging.entries()
    where entry.kind == .directory && (isInDoubt || !downloads.contains(entry.name)) {
      guard StagingName.isDownloadOrRepair(entry.name) else { continue }
      do {
        try folder.staging.removeTree(entry)
      } catch {
        isCleared = false
        // Its download must not use it.
        if isInDoubt { trust.noteFailure(error) }
        leftovers.append(ContentError(error, while: "removing \(entry.name) from staging"))
      }
    }
    // If this fails, the next start removes what is in staging.
    if isInDoubt, isCleared { try? folder.endDoubt() }
    return leftovers
  }

  /// Confirms an announced install if its folder is in place; returns false otherwise.
  private func confirmIfMoved(_ content: InstalledContent, _ files: [InstalledFile]) throws -> Bool
  {
    guard let tree = try versionFolder(content) else { return false }
    let chain = FolderChain(tree)
    // The folder in place must be the announced one: the same inodes, not an older folder.
    let isAnnounced = try files.allSatisfy { file in
      guard let identity = file.identity else { return true }
      return try chain.status(of: file.entry.path)?.identity.inode == identity.inode
    }
    guard isAnnounced else { return false }
    let home = try folder.products.directory(content.contentIdentifier.rawValue)
    try home.sync()
    // The download, which continues, decides whether it replaces a current version.
    try contentLocks.withLock(for: content.contentIdentifier) {
      if try Self.current(in: home) == nil { try pointCurrent(of: home, to: content.version) }
    }
    try journal.confirm(content.contentIdentifier, content.version)
    return true
  }

  /// Forgets versions whose folders were removed, and switches `current` to an existing version.
  private func forgetMissing(_ folderErrors: inout FolderErrors) throws {
    let installed = try journal.installed()
    var present: [String: [ContentVersion]] = [:]
    for content in installed {
      try folderErrors.collect {
        if try hasFolder(content) {
          present[content.contentIdentifier.rawValue, default: []].append(content.version)
        } else {
          // Make the removal durable first. Otherwise, a power failure could restore the folder.
          try (home(of: content.contentIdentifier) ?? folder.products).sync()
          try journal.forget(content.contentIdentifier, content.version)
        }
      }
    }
    // Even if no version is left, because a removal may have been interrupted. Entries with other
    // names, such as lost+found, are not ours.
    for entry in try folder.products.entries()
    where entry.kind == .directory && (try? ProductIdentifier(validating: entry.name)) != nil {
      try folderErrors.collect {
        let home = try folder.products.directory(entry.name)
        try home.removeFile(Self.newCurrentName)
        if try Self.current(in: home) == nil, let newest = present[entry.name]?.max() {
          try pointCurrent(of: home, to: newest)
        }
      }
    }
  }
}

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
    name = "\(try StagingName.removalPrefix(of: subject))\(status.identity.inode)"
  }
}

/// Versions that a collection has moved out of their place.
package struct CollectedVersions: Sendable {
  var report = CollectionReport()
  var trees: [RemovedTree] = []
  /// The error that ended the collection early.
  var error: (any Error)?
}

/// Replaces the files in a version's folder with those of a new tree, each with one rename(2).
///
/// The folder itself stays, so that leases remain valid. At every instant, each file is the old or
/// the new one: a correct file is never missing, and open folders stay readable. It does not need
/// operations that some file systems lack, such as `RENAME_EXCHANGE`.
private enum TreeReplacement {
  /// Moves all entries of `new` into `old`, and entries that only `old` has into `new`.
  ///
  /// `new` is removed later. Folders come first, so that ContentInfo.plist is last: recovery treats
  /// an announced version as complete if its files are in place.
  static func replace(_ old: Directory, by new: Directory) throws {
    let entries = try new.entries()
    let names = Set(entries.map(\.bytes))
    for entry in try old.entries() where !names.contains(entry.bytes) {
      if entry.isText {
        try old.rename(entry.name, to: new, entry.name)
      } else {
        try old.removeTree(entry)
      }
    }
    for entry in entries where entry.kind == .directory {
      try replaceFolder(entry.name, of: old, by: new)
    }
    for entry in entries where entry.kind != .directory {
      let status = try old.status(of: entry.name)
      // A hard link to a reused file. rename(2) does nothing for it.
      if try status?.identity.inode == new.status(of: entry.name)?.identity.inode { continue }
      // rename(2) cannot replace a folder with a file.
      if status?.kind == .directory { try old.removeTree(entry.name) }
      try new.rename(entry.name, to: old, entry.name)
    }
  }

  private static func replaceFolder(
    _ name: String, of old: Directory, by new: Directory
  ) throws {
    guard let status = try old.status(of: name), status.kind == .directory else {
      try old.removeFile(name)
      return try new.rename(name, to: old, name)
    }
    let (oldFolder, newFolder) = (try old.directory(name), try new.directory(name))
    let permissions = try newFolder.status().permissions
    if status.permissions != permissions { try oldFolder.setPermissions(permissions) }
    try replace(oldFolder, by: newFolder)
  }
}

/// Collects errors of single contents, each once, so that the others continue.
struct FolderErrors {
  private(set) var errors: [ContentError] = []

  /// Collects an error of `body` that concerns one folder, such as a damaged one.
  ///
  /// Throws errors that concern all folders, such as too many open files or a failed journal. A
  /// full disk is collected, because other contents may need no space.
  mutating func collect(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as ContentError
      where [.notPermitted, .fileFailed, .diskFull].contains(error.code)
    {
      if !errors.contains(error) { errors.append(error) }
    }
  }
}

extension ContentError {
  /// The error for a version, or the current version, that another process has locked.
  fileprivate static func inUse(
    _ content: ProductIdentifier, _ version: ContentVersion?
  ) -> ContentError {
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
