import ContentLibrary
public import ContentModel
public import FoundationEssentials

/// The promise that a version's folder stays until the lease ends; holds across processes.
public final class Lease: Sendable {
  private let lease: ContentLease

  init(_ lease: ContentLease) { self.lease = lease }

  /// The version that is held.
  public var version: ContentVersion { lease.version }

  /// Its folder, with ContentInfo.plist and Contents; valid for as long as the lease is kept.
  public var url: URL { URL(filePath: lease.path, directoryHint: .isDirectory) }
}

extension LibraryReader {
  /// Holds a version, or the current one, so that nobody removes it; throws `notInstalled`.
  public func lease(_ content: ProductIdentifier, _ version: ContentVersion? = nil) throws -> Lease
  {
    Lease(try library.lease(content, version))
  }

  /// Versions that are never collected; throws `notPermitted` for a user who may not read the
  /// journal.
  public func pins() throws -> Set<ContentKey> { try library.journal.pins() }
}

/// Installed versions: held, made current, pinned, removed.
///
/// Each blocks, may be called from any thread, and but for `lease` throws `stopped` once the queue
/// is closed. Nothing is started or journaled meanwhile, so that what is removed is not needed
/// after all; but while files of removed versions are deleted, the queue goes on.
extension PaymentQueue {
  /// Holds a version, or the current one, so that nobody removes it; throws `notInstalled`.
  public func lease(_ content: ProductIdentifier, _ version: ContentVersion? = nil) throws -> Lease
  {
    Lease(try library.lease(content, version))
  }

  /// Makes an installed version the current one, also an older one; throws `notInstalled`.
  public func use(_ version: ContentVersion, of content: ProductIdentifier) throws {
    try engine.betweenEvents { _ in try library.use(version, of: content) }
  }

  /// Pins a version, which is then never collected, or takes its pin away.
  public func setPin(_ isPinned: Bool, on content: ProductIdentifier, _ version: ContentVersion)
    throws
  {
    try engine.betweenEvents { _ in
      guard try !isPinned || library.isInstalled(content, version) else {
        throw ContentError.notInstalled(content, version)
      }
      try library.journal.setPin(isPinned, on: ContentKey(content, version))
    }
  }

  /// Removes a version; `current` then names the newest that is left.
  ///
  /// Returns once its files are deleted. Works on a full disk. If it throws, everything is as it
  /// was, or the next start deletes what could not be deleted now. Throws `notInstalled`, or
  /// `contentInUse` while a lease or an unfinished transaction needs it.
  public func remove(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try engine.betweenEvents { needed in
      guard !needed.contains(ContentKey(content, version)) else {
        throw ContentError(
          .contentInUse, "An unfinished transaction needs \(content) \(version)",
          remedy: "Finish the transaction first", subject: content.rawValue)
      }
      return try library.takeOut(content, version)
    } then: {
      try library.delete($0)
    }
  }

  /// Removes what `policy` lets go; never what is pinned, leased or needed by a transaction.
  ///
  /// One content that cannot be looked into or removed does not keep the others: `failures` of the
  /// report say why it stays. Throws what concerns all, such as `journalFailed` and `tooManyFiles`.
  public func collect(_ policy: CollectionPolicy = CollectionPolicy()) throws -> CollectionReport {
    try engine.betweenEvents {
      try library.takeOut(policy, protecting: $0)
    } then: {
      try library.delete($0)
    }
  }

  /// Installed contents that the catalog does not offer any more; they are not removed by that.
  public func obsoleteContents() async throws -> [InstalledContent] {
    let offered = try await service.allProducts()
    // A product that cannot be described is still offered.
    if let failure = offered.failures.first { throw failure }
    let names = Set(offered.products.flatMap { $0.contents.map(\.contentIdentifier) })
    return try library.journal.installed().filter { !names.contains($0.contentIdentifier) }
  }
}
