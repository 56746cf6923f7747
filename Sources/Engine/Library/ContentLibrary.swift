package import HostedConcurrency
package import HostedModel
import Dispatch
package import HostedFileIO
import FoundationEssentials

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
  let contentLocks: KeyedLock<ProductIdentifier>
  let durability: LibrarySync
  let ledger: SpaceLedger
  let trust = StagingTrust()

  static let currentName = "current"
  static let newCurrentName = ".current.new"

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

  /// Removes the staging of download `id`.
  package func discardStaging(for id: String) throws {
    try folder.staging.removeTree(StagingName.checked(id))
    trust.forget(id)
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

  func checkInstalled(_ content: ProductIdentifier, _ version: ContentVersion) throws {
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

  /// The current version of every content that has one and is readable.
  package func currentVersions() throws -> [ProductIdentifier: ContentVersion] {
    var currents: [ProductIdentifier: ContentVersion] = [:]
    var folderErrors = FolderErrors()
    for content in Set(try journal.installed().map(\.contentIdentifier)) {
      try folderErrors.collect { currents[content] = try currentVersion(of: content) }
    }
    return currents
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
    guard try isMoved(content, files) else { return false }
    let home = try folder.products.directory(content.contentIdentifier.rawValue)
    try home.sync()
    // The download, which continues, decides whether it replaces a current version.
    try contentLocks.withLock(for: content.contentIdentifier) {
      if try Self.current(in: home) == nil { try pointCurrent(of: home, to: content.version) }
    }
    try journal.confirm(content.contentIdentifier, content.version)
    return true
  }

  /// Whether the folder in place is the announced one: the same inodes, not an older folder.
  private func isMoved(_ content: InstalledContent, _ files: [InstalledFile]) throws -> Bool {
    guard let tree = try versionFolder(content) else { return false }
    let chain = FolderChain(tree)
    return try files.allSatisfy { file in
      guard let identity = file.identity else { return true }
      return try chain.status(of: file.entry.path)?.identity.inode == identity.inode
    }
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
