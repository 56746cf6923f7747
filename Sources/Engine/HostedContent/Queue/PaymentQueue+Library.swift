import HostedConcurrency
public import FoundationEssentials
import HostedFileIO
import HostedLibrary
import HostedPackage
import HostedTransfer

/// Leases, selects, pins and removes installed versions.
///
/// The queue handles no event during calls that change something, so a version cannot become needed
/// while it is being removed. While files of removed versions are deleted, the queue continues.
///
/// The calls with access `package` block; otherwise they are the same as those with their names.
extension PaymentQueue {
  /// Leases a version, or the current one, so that it is not removed.
  ///
  /// Throws `notInstalled`, or `contentInUse` if another process has locked it for a second.
  public func lease(_ content: ProductIdentifier, version: ContentVersion? = nil) async throws
    -> Lease
  {
    try await performBlocking { try self.lease(content, version: version) }
  }

  package func lease(_ content: ProductIdentifier, version: ContentVersion? = nil) throws -> Lease {
    Lease(try library.lease(content, version: version))
  }

  /// Returns the current version of `content`, or nil if it is not installed.
  public func installedVersion(of content: ProductIdentifier) async throws -> ContentVersion? {
    try await performBlocking { try self.installedVersion(of: content) }
  }

  /// Returns the current version of `content`, or nil if it is not installed; blocks.
  public func installedVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    try library.currentVersion(of: content)
  }

  /// Returns whether a version is installed with all its files, by kind and size; reads no file.
  package func isComplete(_ content: ProductIdentifier, _ version: ContentVersion) throws -> Bool {
    try library.isComplete(content, version)
  }

  /// Makes an installed version current, even an older one.
  ///
  /// Throws `notInstalled`, and `stopped` once the queue is closed.
  public func use(_ version: ContentVersion, of content: ProductIdentifier) async throws {
    try await repairs.run { try self.use(version, of: content) }
  }

  package func use(_ version: ContentVersion, of content: ProductIdentifier) throws {
    try engine.betweenEvents { _ in try library.use(version, of: content) }
  }

  /// Pins a version, so that it is never collected, or unpins it.
  ///
  /// Throws `notInstalled` if the version to pin is not installed, and `stopped` once the queue is
  /// closed.
  public func setPin(
    _ isPinned: Bool, on content: ProductIdentifier, version: ContentVersion
  ) async throws {
    try await repairs.run { try self.setPin(isPinned, on: content, version: version) }
  }

  package func setPin(
    _ isPinned: Bool, on content: ProductIdentifier, version: ContentVersion
  ) throws {
    try engine.betweenEvents { _ in
      guard try !isPinned || library.isInstalled(content, version) else {
        throw ContentError.notInstalled(content, version)
      }
      try library.journal.setPin(isPinned, on: ContentKey(content, version: version))
    }
  }

  /// Removes a version; `current` then names the newest remaining version.
  ///
  /// Returns when its files are deleted. Works on a full disk. If it throws, nothing has changed,
  /// or the next start completes the removal. Throws `notInstalled`, `contentInUse` if a lease or
  /// an unfinished transaction needs the version, and `stopped` once the queue is closed.
  public func remove(_ content: ProductIdentifier, version: ContentVersion) async throws {
    try await repairs.run { try self.remove(content, version: version) }
  }

  package func remove(_ content: ProductIdentifier, version: ContentVersion) throws {
    try engine.remove(content, version: version)
  }

  /// Removes the versions that `policy` selects, except pinned, leased and needed ones.
  ///
  /// An unfinished transaction needs its versions. If a content cannot be read or removed, the
  /// others are still collected, and `failures` of the report gives the reason. Throws errors that
  /// concern all contents, such as `journalFailed` and `tooManyFiles`, and `stopped` once the queue
  /// is closed.
  @discardableResult
  public func collect(_ policy: CollectionPolicy = CollectionPolicy()) async throws
    -> CollectionReport
  {
    try await repairs.run { try self.collect(policy) }
  }

  package func collect(_ policy: CollectionPolicy = CollectionPolicy()) throws -> CollectionReport {
    try engine.betweenEvents {
      try library.takeOut(policy, protecting: $0)
    } then: {
      try library.delete($0)
    }
  }

  /// Removes unreadable records from the journal; returns an error that describes each.
  ///
  /// The queue ignores such records when it opens. Restore or download again what they described;
  /// the folders of installed versions stay. Throws `stopped` once the queue is closed.
  @discardableResult
  public func repairJournal() async throws -> [ContentError] {
    try await repairs.run { [engine] in
      try engine.betweenEvents { _ in try engine.journal.removeUnreadable() }
    }
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

  // MARK: Repair

  /// Verifies an installed version and repairs it, fetching only the damaged members.
  ///
  /// Each damaged file is replaced in one step. Files are never overwritten in place, because
  /// versions may share them and readers may have them open. Leases on the version stay valid.
  /// Content that is only for buyers is fetched for the library's own account, or else for another
  /// account that has bought the product in this library.
  /// Throws `productUnknown` if the store no longer has this version, `notInstalled`, and the
  /// errors of a download; the installed files then stay as they were.
  public func repair(_ content: InstalledContent) async throws -> RepairReport {
    let paths = try await repairs.run { try self.damagedPaths(of: content) }
    var bytes: Int64 = 0
    if !paths.isEmpty {
      let offer = try await offer(of: content)
      bytes = try await repairs.run { try self.replace(content, by: offer) }
    }
    return RepairReport(
      contentIdentifier: content.contentIdentifier, version: content.version, damagedPaths: paths,
      bytesFetched: bytes)
  }

  /// Returns the damaged paths of `content`.
  ///
  /// An empty path means the whole folder: it was deleted, or the record of its files cannot be
  /// read. A repair creates the folder and the record again.
  private func damagedPaths(of content: InstalledContent) throws -> [String] {
    do {
      return try library.verify(content, isStopped: repairs.check).map { $0.path ?? "" }
    } catch let error as ContentError where error.code == .journalFailed {
      return [""]
    }
  }

  /// Returns the offer that `content` was installed from, from the current signed catalog.
  private func offer(of content: InstalledContent) async throws -> ContentOffer {
    let product = content.productIdentifier
    var offers = try await contents?.offers(of: product)
    if offers == nil {
      offers = try await service.products([product]).products.flatMap(\.contents)
    }
    let offer = offers?.first {
      $0.contentIdentifier == content.contentIdentifier
        && $0.version.rawValue == content.version.rawValue
    }
    guard let offer else {
      throw ContentError(
        .productUnknown,
        "The store no longer has \(content.contentIdentifier) \(content.version)",
        remedy: "Update to a version that the store offers", subject: product.rawValue)
    }
    return offer
  }

  private func replace(_ content: InstalledContent, by offer: ContentOffer) throws -> Int64 {
    let job = DownloadJob(isStopped: repairs.check)
    let (index, source) = try index(of: offer, job)
    let id = configuration.environment.newIdentifier()
    let staging = try library.staging(for: id)
    // If this fails, the next start removes the folder.
    defer { try? library.discardStaging(for: id) }
    let space = library.spaceReservation(for: content.productIdentifier)
    defer { space.end() }
    // If the index contradicts its own files, fetching again would never repair them.
    let fetch = PackageFetch(
      offer: offer, index: index, source: source, job: job,
      workers: configuration.environment.assemblyWorkers, comparesDigests: true, space: space)
    let files = try fetch.run(into: staging, of: library) {
      // Without an identity, each file is hashed. The journaled identity may match a damaged file.
      let files = index.files.map { InstalledFile(entry: $0, identity: nil) }
      return try [library.reusableTree(of: content, files: files, isTrusted: false)]
        .compactMap { $0 }
    }
    try engine.betweenEvents { _ in
      guard try library.record(of: content.contentIdentifier, content.version) != nil else {
        throw ContentError.notInstalled(content.contentIdentifier, content.version)
      }
      try library.install(
        PackageFetch.contentName, ofDownload: id, as: content, files: files, switching: false)
    }
    return job.bytesFetched
  }

  /// Returns the index of a package, and the source of its pieces.
  ///
  /// If the library's own account does not own the content, tries the other accounts that have
  /// bought the product.
  private func index(of offer: ContentOffer, _ job: DownloadJob) throws
    -> (PackageIndex, any PieceSource)
  {
    do {
      return try index(of: offer, for: nil, job)
    } catch let error as ContentError where error.code == .accessDenied && sources.grants != nil {
      let accounts = try engine.journal.accounts(of: offer.productIdentifier)
      for account in accounts.compactMap(\.self).sorted() {
        do {
          return try index(of: offer, for: account, job)
        } catch let other as ContentError where other.code == .accessDenied {
          // Such as a purchase that failed, or was taken back.
        }
      }
      throw error
    }
  }

  private func index(of offer: ContentOffer, for account: AccountID?, _ job: DownloadJob) throws
    -> (PackageIndex, any PieceSource)
  {
    let source = try sources.source(for: ContentRequest(offer: offer, account: account))
    return (try PackageIndex(signedAs: offer, from: source, ticket: job.ticket), source)
  }
}

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

/// The result of repairing an installed version.
public struct RepairReport: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The content's identifier.
  public let contentIdentifier: ProductIdentifier
  /// The version.
  public let version: ContentVersion
  /// Paths that were damaged, missing or unexpected, relative to the version's folder.
  ///
  /// An empty path means the whole folder.
  public let damagedPaths: [String]
  /// Bytes fetched, without the index; 0 if the version was intact.
  public let bytesFetched: Int64

  /// The content, its version and the damaged paths.
  public var description: String {
    "\(contentIdentifier) \(version): \(damagedPaths.count) damaged, \(bytesFetched) bytes fetched"
  }
}
