package import Concurrency
package import ContentModel
import Dispatch
package import FileIO
import FoundationEssentials

/// Installed content on disk: staging, versions and `current`; old or new, never half.
///
/// `products/<content>/<version>` appears in one rename after everything in it is durable, and
/// `products/<content>/current` is a link that is replaced in another. May be used from any thread;
/// one content is installed by one thread at a time.
package final class ContentLibrary: Sendable {
  package let folder: LibraryFolder
  package let journal: any InstallJournal
  /// Held while `current` of a content is changed, and while a version is removed.
  ///
  /// Without it, `current` could be set to a version that another thread removes.
  let contentLocks: KeyedLock<ProductIdentifier>
  let durability: LibrarySync
  let ledger: SpaceLedger
  let trust = StagingTrust()

  /// The name of the link to the version in use.
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

  // MARK: Staging

  /// The folder in which download `id` is filled; created when it is not there.
  ///
  /// Emptied when a sync has failed since it was filled (`StagingTrust`).
  package func staging(for id: String) throws -> Directory {
    let name = try StagingName(id).rawValue
    if !trust.isBelieved(id) { try folder.staging.removeTree(name) }
    trust.begin(id)
    return try folder.staging.createDirectory(name, mode: 0o700)
  }

  /// Makes everything in a download's staging durable, or has nothing of it used again.
  private func sync(_ name: String, ofDownload id: String, in staging: Directory) throws {
    do {
      try durability.everything()
      try trust.check(id)
    } catch {
      // For the next process; within this one `staging(for:)` sees to it.
      try? staging.removeTree(name)
      throw error
    }
  }

  /// Has the disk write what was written so far.
  ///
  /// Promises nothing; the sync at the end of an install tells what fails here. From any thread.
  @Sendable package func writeback() { try? durability.everything() }

  /// Removes what was fetched for download `id`.
  package func discardStaging(for id: String) throws {
    try folder.staging.removeTree(StagingName(id).rawValue)
    trust.forget(id)
  }

  // MARK: Installing

  /// Moves the folder `name` of a download's staging into its place as `content` and switches
  /// `current`.
  ///
  /// Durable when it returns; installs that run at the same time share their syncs. After a crash
  /// at any instant `recover` finishes it or leaves the staging as it was. `current` only moves
  /// forward: an older version is installed beside it. `signers` is who vouches for the files'
  /// digests, nil when the files were compared with them. Unless `switching`, it is installed
  /// beside the current version, if there is one.
  package func install(
    _ name: String, ofDownload id: String, as content: InstalledContent, files: [InstalledFile],
    signers: Digest? = nil, switching: Bool = true
  ) throws {
    // Made before the sync, which makes the home's name durable together with what moves into it.
    let home = try folder.products.createDirectory(content.contentIdentifier.rawValue)
    let staging = try folder.staging.directory(id)
    // For users who may not read the journal.
    try staging.directory(name).setModified(content.date.timeIntervalSince1970)
    try sync(name, ofDownload: id, in: staging)
    // The record of a version that is repaired does not change before its files do.
    let isRepair = try isInstalled(content.contentIdentifier, content.version)
    if !isRepair { try journal.announce(content, files: files, signers: signers) }
    try move(name, of: staging, to: home, as: content)
    if isRepair { try journal.replace(content, files: files, signers: signers) }
    try contentLocks.withLock(for: content.contentIdentifier) {
      if try switching || Self.current(in: home) == nil {
        try switchCurrent(of: home, to: content.version)
      }
    }
    if !isRepair { try journal.confirm(content.contentIdentifier, content.version) }
  }

  /// Finishes an install of this version that failed after its folder was in its place; false when
  /// there is none.
  package func finishInterrupted(
    _ content: ProductIdentifier, _ version: ContentVersion
  ) throws -> Bool {
    let announced = try journal.announced().first {
      $0.contentIdentifier == content && $0.version.rawValue == version.rawValue
    }
    // One whose record cannot be read is installed anew.
    guard let announced, let files = try recordedFiles(of: announced) else { return false }
    return try confirmIfMoved(announced, files)
  }

  /// Makes an installed version current if it is newer than the one that is.
  ///
  /// Throws `notInstalled` when it was removed meanwhile, as what nobody waits for any more may be.
  package func advance(_ content: ProductIdentifier, to version: ContentVersion) throws {
    try contentLocks.withLock(for: content) {
      guard try isInstalled(content, version) else {
        throw ContentError.notInstalled(content, version)
      }
      let home = try folder.products.directory(content.rawValue)
      if let current = try Self.current(in: home), current >= version {
        // By a switch whose sync failed, perhaps.
        return try durability.names(in: home)
      }
      try pointCurrent(of: home, to: version)
    }
  }

  private func switchCurrent(of home: Directory, to version: ContentVersion) throws {
    if let current = try Self.current(in: home), current >= version { return }
    try pointCurrent(of: home, to: version)
  }

  /// Makes `current` name `version`, or nothing for nil; one rename, durable when it returns.
  func pointCurrent(of home: Directory, to version: ContentVersion?) throws {
    guard let version else {
      try home.removeFile(Self.currentName)
      return try durability.names(in: home)
    }
    try home.removeFile(Self.newCurrentName)
    try home.createLink(Self.newCurrentName, to: version.rawValue)
    try home.rename(Self.newCurrentName, to: home, Self.currentName)
    try durability.names(in: home)
  }

  // MARK: Looking

  /// The version that `current` names and that is there; nil for none.
  package func currentVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    guard try folder.products.status(of: content.rawValue)?.kind == .directory else { return nil }
    return try Self.current(in: folder.products.directory(content.rawValue))
  }

  /// The version that `current` names in a content's folder and that is there; nil for none.
  static func current(in home: Directory) throws -> ContentVersion? {
    var target = try home.link(currentName)
    while let name = target, let version = try? ContentVersion(validating: name) {
      if try home.status(of: name)?.kind == .directory { return version }
      // A removal contentLocks `current` to another version before it takes this one away.
      target = try home.link(currentName)
      if target == name { break }
    }
    return nil
  }

  /// Whether this version is installed and confirmed, and its folder is there.
  ///
  /// Compared as it is written: 1.0.0 equals 1.0, but 1.0's folder is not where 1.0.0 is looked
  /// for.
  package func isInstalled(_ content: ProductIdentifier, _ version: ContentVersion) throws -> Bool {
    guard
      let found = try journal.installed(content).first(where: {
        $0.version.rawValue == version.rawValue
      })
    else { return false }
    return try hasFolder(found)
  }

  func hasFolder(_ content: InstalledContent) throws -> Bool {
    let name = content.contentIdentifier.rawValue
    guard try folder.products.status(of: name)?.kind == .directory else { return false }
    return try folder.products.directory(name).status(of: content.version.rawValue)?.kind
      == .directory
  }

  /// The path of a version's folder, whether it is there or not.
  package func path(of content: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(folder.products.path)/\(content)/\(version)"
  }

  /// All installed versions, by content and version, and whether `current` names them.
  ///
  /// A content whose folder cannot be looked into is listed with no current version, so that the
  /// others can be used; whoever works on it hears what is wrong.
  package func list() throws -> [(content: InstalledContent, isCurrent: Bool)] {
    let installed = try journal.installed()
    let currents = try currentVersions(of: installed)
    return installed.map {
      ($0, currents[$0.contentIdentifier]?.rawValue == $0.version.rawValue)
    }
  }

  /// The version that `current` names, of every content that has one and can be looked into.
  package func currentVersions() throws -> [ProductIdentifier: ContentVersion] {
    try currentVersions(of: journal.installed())
  }

  private func currentVersions(of installed: [InstalledContent]) throws
    -> [ProductIdentifier: ContentVersion]
  {
    var currents: [ProductIdentifier: ContentVersion] = [:]
    var folderErrors = FolderErrors()
    for content in Set(installed.map(\.contentIdentifier)) {
      try folderErrors.collect { currents[content] = try currentVersion(of: content) }
    }
    return currents
  }

  // MARK: After a crash

  /// Brings folder and journal together after a crash; for the one engine, before any work.
  ///
  /// Installs that were announced and moved are finished, others are forgotten and their staging
  /// waits for its download. One whose record cannot be read is set aside: a repair or another
  /// install of the same version replaces the record. Staging of downloads other than `downloads`
  /// is removed, but nothing that has another name than a library gives there. What cannot be
  /// removed stays, and a content whose folder cannot be looked into stays as it is: the errors say
  /// why.
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
    do {
      _ = try folder.deleteRemoved { try durability.everything() }
    } catch {
      leftovers.append(ContentError(error, while: "deleting removed versions"))
    }
    for entry in try folder.staging.entries()
    where entry.kind == .directory && !downloads.contains(entry.name) {
      guard let name = try? StagingName(entry.name), !name.isRemoval else { continue }
      do {
        try folder.staging.removeTree(entry)
      } catch {
        leftovers.append(ContentError(error, while: "removing \(entry.name) from staging"))
      }
    }
    return leftovers
  }

  /// Confirms an announced install whose folder is in its place; false when it is not.
  private func confirmIfMoved(_ content: InstalledContent, _ files: [InstalledFile]) throws -> Bool
  {
    guard try isMoved(content, files) else { return false }
    let home = try folder.products.directory(content.contentIdentifier.rawValue)
    try home.sync()
    // Whether it replaces a current version is its download's to say, which goes on.
    try contentLocks.withLock(for: content.contentIdentifier) {
      if try Self.current(in: home) == nil { try switchCurrent(of: home, to: content.version) }
    }
    try journal.confirm(content.contentIdentifier, content.version)
    return true
  }

  /// Whether the folder in place is the announced one: the same inodes, not an older folder.
  private func isMoved(_ content: InstalledContent, _ files: [InstalledFile]) throws -> Bool {
    guard try hasFolder(content) else { return false }
    let tree = try folder.products.directory(content.contentIdentifier.rawValue)
      .directory(content.version.rawValue)
    let walker = TreeWalker(tree)
    return try files.allSatisfy { file in
      guard let identity = file.identity else { return true }
      return try walker.status(of: file.entry.path)?.identity.inode == identity.inode
    }
  }

  /// Forgets versions whose folders somebody removed, and contentLocks `current` to one that is
  /// there.
  private func forgetMissing(_ folderErrors: inout FolderErrors) throws {
    let installed = try journal.installed()
    var present: [String: [ContentVersion]] = [:]
    for content in installed {
      try folderErrors.collect {
        if try hasFolder(content) {
          present[content.contentIdentifier.rawValue, default: []].append(content.version)
        } else {
          // Gone for good before the journal forgets it, or a power failure could bring it back.
          let name = content.contentIdentifier.rawValue
          let hasHome = try folder.products.status(of: name)?.kind == .directory
          try (hasHome ? folder.products.directory(name) : folder.products).sync()
          try journal.forget(content.contentIdentifier, content.version)
        }
      }
    }
    // Also where no version is left, since a removal may have ended half way. What others have put
    // there, such as a disk's lost+found, is theirs.
    for entry in try folder.products.entries()
    where entry.kind == .directory && (try? ProductIdentifier(validating: entry.name)) != nil {
      try folderErrors.collect {
        let home = try folder.products.directory(entry.name)
        try home.removeFile(Self.newCurrentName)
        if try Self.current(in: home) == nil, let newest = present[entry.name]?.max() {
          try switchCurrent(of: home, to: newest)
        }
      }
    }
  }
}
