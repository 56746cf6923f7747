import HostedLibrary
public import HostedModel
import HostedPackage
import HostedTransfer
import HostedFileIO
import FoundationEssentials
import HostedConcurrency

/// The result of repairing an installed version.
public struct RepairReport: Hashable, Codable, Sendable {
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
}

extension PaymentQueue {
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
      return try library.verify(content, isStopped: repairs.check).map(\.path)
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
    let id = newIdentifier()
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
