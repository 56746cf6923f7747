import HostedLibrary
public import HostedModel
public import FoundationEssentials

/// Keeps a version's folder from being removed while the lease exists, across processes.
public final class Lease: Sendable {
  private let lease: ContentLease

  init(_ lease: ContentLease) { self.lease = lease }

  /// The leased version.
  public var version: ContentVersion { lease.version }

  /// The version's folder, with ContentInfo.plist and Contents; valid while the lease exists.
  public var url: URL { URL(filePath: lease.path, directoryHint: .isDirectory) }
}

extension LibraryReader {
  /// Leases a version, or the current one, so that it is not removed.
  ///
  /// Throws `notInstalled`, or `contentInUse` if another process has locked it for a second.
  public func lease(_ content: ProductIdentifier, version: ContentVersion? = nil) throws -> Lease {
    Lease(try library.lease(content, version: version))
  }

  /// Returns the pinned versions, which are never collected.
  ///
  /// Throws `notPermitted` if the user cannot read the journal.
  public func pins() throws -> Set<ContentKey> { try library.journal.pins() }
}

/// Leases, selects, pins and removes installed versions.
///
/// The queue handles no event during calls that change something, so a version cannot become needed
/// while it is being removed. While files of removed versions are deleted, the queue continues.
extension PaymentQueue {
  /// Leases a version, or the current one, so that it is not removed; blocks.
  ///
  /// Throws `notInstalled`, or `contentInUse` if another process has locked it for a second.
  public func lease(_ content: ProductIdentifier, version: ContentVersion? = nil) throws -> Lease {
    Lease(try library.lease(content, version: version))
  }

  /// Returns the current version of `content`, or nil if it is not installed; blocks.
  public func installedVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    try library.currentVersion(of: content)
  }

  /// Returns whether a version is installed with all its files, by kind and size; reads no file.
  package func isComplete(_ content: ProductIdentifier, _ version: ContentVersion) throws -> Bool {
    try library.isComplete(content, version)
  }

  /// Makes an installed version current, even an older one; blocks.
  ///
  /// Throws `notInstalled`, and `stopped` once the queue is closed.
  public func use(_ version: ContentVersion, of content: ProductIdentifier) throws {
    try engine.betweenEvents { _ in try library.use(version, of: content) }
  }

  /// Pins a version, so that it is never collected, or unpins it.
  ///
  /// Blocks. Throws `notInstalled` if the version to pin is not installed, and `stopped` once the
  /// queue is closed.
  public func setPin(_ isPinned: Bool, on content: ProductIdentifier, version: ContentVersion)
    throws
  {
    try engine.betweenEvents { _ in
      guard try !isPinned || library.isInstalled(content, version) else {
        throw ContentError.notInstalled(content, version)
      }
      try library.journal.setPin(isPinned, on: ContentKey(content, version: version))
    }
  }

  /// Removes a version; `current` then names the newest remaining version.
  ///
  /// Blocks until its files are deleted. Works on a full disk. If it throws, nothing has changed,
  /// or the next start completes the removal. Throws `notInstalled`, `contentInUse` if a lease or
  /// an unfinished transaction needs the version, and `stopped` once the queue is closed.
  public func remove(_ content: ProductIdentifier, version: ContentVersion) throws {
    try engine.remove(content, version: version)
  }

  /// Removes the versions that `policy` selects, except pinned, leased and needed ones.
  ///
  /// An unfinished transaction needs its versions. If a content cannot be read or removed, the
  /// others are still collected, and `failures` of the report gives the reason. Blocks. Throws
  /// errors that concern all contents, such as `journalFailed` and `tooManyFiles`, and `stopped`
  /// once the queue is closed.
  public func collect(_ policy: CollectionPolicy = CollectionPolicy()) throws -> CollectionReport {
    try engine.betweenEvents {
      try library.takeOut(policy, protecting: $0)
    } then: {
      try library.delete($0)
    }
  }

  /// Removes unreadable records from the journal; returns an error that describes each.
  ///
  /// The queue ignores such records when it opens. Restore or download again what they described;
  /// the folders of installed versions stay. Blocks. Throws `stopped` once the queue is closed.
  public func repairJournal() throws -> [ContentError] {
    try engine.betweenEvents { _ in try engine.journal.removeUnreadable() }
  }

  /// Returns installed contents that the catalog no longer offers; removes nothing.
  public func obsoleteContents() async throws -> [InstalledContent] {
    // First, because content may be bought that the catalog gets meanwhile.
    let installed = try await repairs.run { [library] in try library.journal.installed() }
    let offered = try await service.allProducts()
    // A product that cannot be described is still offered.
    if let failure = offered.failures.first { throw failure }
    let names = Set(offered.products.flatMap { $0.contents.map(\.contentIdentifier) })
    return installed.filter { !names.contains($0.contentIdentifier) }
  }
}

extension Engine {
  /// Removes a version, unless an unfinished transaction or a lease needs it.
  func remove(_ content: ProductIdentifier, version: ContentVersion) throws {
    try betweenEvents { needed in
      guard !needed.contains(ContentKey(content, version: version)) else {
        throw ContentError(
          .contentInUse, "An unfinished transaction needs \(content) \(version)",
          remedy: "Finish the transaction first", subject: content.rawValue)
      }
      return try library.takeOut(content, version)
    } then: {
      try library.delete($0)
    }
  }
}
