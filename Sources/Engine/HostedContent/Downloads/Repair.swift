import ContentLibrary
public import ContentModel
import ContentPackage
import FileIO
import FoundationEssentials
import Concurrency

/// What was wrong with an installed version, and what mending it took.
public struct RepairReport: Hashable, Codable, Sendable {
  /// The content.
  public let contentIdentifier: ProductIdentifier
  /// Its version.
  public let version: ContentVersion
  /// Paths below the version's folder that were damaged, missing or did not belong there; an empty
  /// one for the whole of it.
  public let damagedPaths: [String]
  /// Bytes that were fetched, the index not counted; 0 when nothing was wrong.
  public let bytesFetched: Int64
}

extension PaymentQueue {
  /// Verifies an installed version and mends what is damaged, fetching only the members for that.
  ///
  /// Each damaged file is replaced in one step. No file is written in place, since versions may
  /// share it and readers may have it open, and leases on the version hold. Throws `productUnknown`
  /// when the store has this version no longer, `notInstalled`, and what a download throws; what is
  /// installed then stays as it was.
  public func repair(_ content: InstalledContent) async throws -> RepairReport {
    let paths = try await repairs.run { try self.damagedPaths(of: content) }
    guard !paths.isEmpty else { return RepairReport(content, paths, bytesFetched: 0) }
    let offer = try await offer(of: content)
    let bytes = try await repairs.run { try self.replace(content, by: offer) }
    return RepairReport(content, paths, bytesFetched: bytes)
  }

  /// The paths of what is wrong with `content`.
  ///
  /// An empty one stands for the whole of it: nobody can read what its files were. They are
  /// recorded anew when it is mended.
  private func damagedPaths(of content: InstalledContent) throws -> [String] {
    do {
      return try library.verify(content, isStopped: repairs.check).map(\.path)
    } catch let error as ContentError where error.code == .journalFailed {
      return [""]
    }
  }

  /// The offer that `content` was installed from, as the signed catalog has it today.
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
        "The store has \(content.contentIdentifier) \(content.version) no longer",
        remedy: "Update to a version that it has", subject: product.rawValue)
    }
    return offer
  }

  private func replace(_ content: InstalledContent, by offer: ContentOffer) throws -> Int64 {
    let source = try pieceSource()
    let job = DownloadJob(isStopped: repairs.check)
    let index = try PackageIndex(signedAs: offer, from: source, ticket: job.ticket)
    let id = newIdentifier()
    let staging = try library.staging(for: id)
    // What cannot be removed now is removed by the next start.
    defer { try? library.discardStaging(for: id) }
    let space = library.spaceReservation(for: content.productIdentifier)
    defer { space.end() }
    // An index that contradicts the files it makes would never be mended by fetching again.
    let fetch = PackageFetch(
      offer: offer, index: index, source: source, job: job,
      workers: configuration.environment.assemblyWorkers, comparesDigests: true, space: space)
    let files = try fetch.run(into: staging, of: library) {
      // Every file is hashed: what the disk lost keeps its journaled identity.
      let files = index.files.map { InstalledFile(entry: $0, identity: nil) }
      return try [library.reusableTree(of: content, files: files, isTrusted: false)]
        .compactMap { $0 }
    }
    try engine.betweenEvents { _ in
      guard try library.isInstalled(content.contentIdentifier, content.version) else {
        throw ContentError.notInstalled(content.contentIdentifier, content.version)
      }
      try library.install(
        PackageFetch.contentName, ofDownload: id, as: content, files: files, switching: false)
    }
    return job.archiveBytes.fetched
  }
}

extension RepairReport {
  fileprivate init(_ content: InstalledContent, _ damagedPaths: [String], bytesFetched: Int64) {
    self.init(
      contentIdentifier: content.contentIdentifier, version: content.version,
      damagedPaths: damagedPaths, bytesFetched: bytesFetched)
  }
}
