import HostedConcurrency
import HostedLibrary
import HostedPackage
import HostedTransfer
import FoundationEssentials

/// Runs one download, from a signed offer to an installed version.
struct Pipeline: Sendable {
  let library: ContentLibrary
  /// See `PaymentQueue.contents`.
  let contents: SignedContents?
  let sources: ContentSources
  let clock: EngineClock
  /// See `Environment.assemblyWorkers`.
  let workers: Int?

  /// Returns the download with a signed offer; blocks.
  ///
  /// If the offer had a problem, looks it up again. Throws the problem if it persists.
  func resolved(_ download: DownloadRecord) throws -> DownloadRecord {
    guard let problem = download.offer.problem else { return download }
    guard let contents else { throw problem }
    var download = download
    download.offer = try contents.offer(for: download.offer)
    return download
  }

  /// Fetches, verifies, unpacks and installs `download`; blocks, and the result is durable.
  ///
  /// Throws a `ContentError` if it fails, and `stopped` if `job` was stopped. Data that was fetched
  /// and verified then stays in staging. `account` owns the content, and needs the contents `ahead`
  /// soon.
  func run(
    _ download: DownloadRecord, job: DownloadJob, account: AccountID?, ahead: [ContentOffer]
  ) throws {
    let offer = download.offer
    // A service must not be able to put one product's content into another product's folder.
    // Downloads of one content run one at a time, so this cannot change meanwhile.
    let installed = try library.journal.installed(offer.contentIdentifier)
    try library.checkOwner(of: offer.contentIdentifier, is: offer.productIdentifier, installed)
    // After a crash, an update or a second purchase, the version may be installed already.
    let switching = download.keepsCurrent != true
    let (content, version) = (offer.contentIdentifier, offer.version)
    let isRecorded = installed.contains { $0.version.rawValue == version.rawValue }
    // Files that were moved or deleted are fetched below, into the existing folder.
    if try isRecorded || library.finishInterrupted(content, version),
      try library.isComplete(content, version)
    {
      if switching {
        try library.advance(content, to: version, replacing: offer.withdrawnVersions)
      }
      return leaveStaging(of: download)
    }

    // Transfer and package: the signed index lists the digest of each piece and file. Verified
    // members become files in staging while later ones arrive. Data that exists locally is not
    // fetched.
    let request = ContentRequest(offer: offer, account: account, ahead: ahead)
    let (index, source) = try index(for: request, isFirst: installed.isEmpty, job)
    let staging = try library.staging(for: download.id.rawValue)
    let space = library.spaceReservation(for: offer.productIdentifier)
    defer { space.end() }
    // Without recorded signers the digests cannot be re-evaluated later, so compare them now.
    let fetch = PackageFetch(
      offer: offer, index: index, source: source, job: job, workers: workers,
      comparesDigests: offer.signers == nil, space: space)
    let files = try fetch.run(into: staging, of: library) { try library.reusableTrees(for: offer) }
    job.enter(.installing)

    // Library: one rename makes the version appear, another makes it current.
    try library.install(
      PackageFetch.contentName, ofDownload: download.id.rawValue,
      as: InstalledContent(offer, files, date: clock.now()), files: files,
      signers: index.payload == nil ? nil : offer.signers, switching: switching,
      replacing: offer.withdrawnVersions)
    leaveStaging(of: download)
  }

  private func index(
    for request: ContentRequest, isFirst: Bool, _ job: DownloadJob
  ) throws -> (PackageIndex, any PieceSource) {
    let source = try sources.source(for: request)
    let offer = request.offer
    // An update usually needs only a part of the package.
    if isFirst, let whole = try wholePackage(of: offer, from: source, ticket: job.ticket) {
      return whole
    }
    return (try PackageIndex(signedAs: offer, from: source, ticket: job.ticket), source)
  }

  /// Removes the staging folder; if that fails, the next start does it.
  private func leaveStaging(of download: DownloadRecord) {
    try? library.discardStaging(for: download.id.rawValue)
  }
}

extension ContentLibrary {
  /// Throws `contentClaimed` if versions of `content` are installed for another product.
  fileprivate func checkOwner(
    of content: ProductIdentifier, is product: ProductIdentifier, _ installed: [InstalledContent]
  ) throws {
    let other = installed.first { $0.productIdentifier != product }
    guard let owner = other?.productIdentifier else { return }
    throw ContentError(
      .contentClaimed, "The content \(content) is already installed for the product \(owner)",
      remedy: "Remove the installed versions first, to install it for \(product)",
      subject: product.rawValue)
  }
}

extension InstalledContent {
  /// Creates the record of the installed `files`; the size in the offer is not verified.
  fileprivate init(_ offer: ContentOffer, _ files: [InstalledFile], date: Date) {
    self.init(
      contentIdentifier: offer.contentIdentifier, productIdentifier: offer.productIdentifier,
      version: offer.version, size: files.reduce(0) { $0 + $1.entry.size },
      entryCount: files.count, date: date)
  }
}

/// Fetches a small package whole from a distant server; returns its index and the package as a
/// source.
///
/// This saves the request for the index. The result is the same, because the store builds its index
/// in the same way and the package has its signed digest. Returns nil if that does not save time or
/// the package cannot be indexed.
private func wholePackage(
  of offer: ContentOffer, from source: any PieceSource, ticket: TransferTicket
) throws -> (PackageIndex, any PieceSource)? {
  guard source.isBestWhole(offer.package) else { return nil }
  let file = try WholeFile(offer.package, from: source, ticket: ticket)
  // A package from other publishing software may break a rule. Then use the store's index.
  guard let examination = try? examinePackage(file, name: offer.package.path),
    examination.isValid,
    let index = try? PackageIndex(indexing: file, entries: examination.entries)
  else { return nil }
  return (index, file)
}

// The file is verified, so an archive can be read from it.
extension WholeFile: ByteSource {}
