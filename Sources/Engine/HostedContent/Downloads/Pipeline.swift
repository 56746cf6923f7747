import ContentLibrary
import ContentModel
import ContentPackage
import ContentTransfer
import FileIO
import FoundationEssentials

/// The whole way of one download, from a signed offer to an installed version.
struct Pipeline: Sendable {
  let library: ContentLibrary
  /// As `PaymentQueue.contents`.
  let contents: SignedContents?
  let pieceSource: @Sendable () throws -> any PieceSource
  let clock: EngineClock
  /// As `Environment.assemblyWorkers`.
  let workers: Int?

  /// The download with a signed offer, which is looked up again if it had a problem; blocks.
  ///
  /// Throws the problem if it is still there.
  func resolved(_ download: DownloadRecord) throws -> DownloadRecord {
    guard let problem = download.offer.problem else { return download }
    guard let contents else { throw problem }
    var download = download
    download.offer = try contents.offer(for: download.offer)
    return download
  }

  /// Fetches, verifies, unpacks and installs `download`; blocks, durable when it returns.
  ///
  /// Throws a `ContentError` when it fails, `stopped` when `job` was stopped; what was fetched
  /// and verified then stays in staging.
  func run(_ download: DownloadRecord, job: DownloadJob) throws {
    let offer = download.offer
    // Whatever a seller says, one product's content never gets into another one's folder.
    try library.checkOwner(of: offer.contentIdentifier, is: offer.productIdentifier)
    // What is installed is not fetched again: after a crash, an update, a second purchase.
    let switching = download.keepsCurrent != true
    let (content, version) = (offer.contentIdentifier, offer.version)
    // Files that somebody has moved or deleted are fetched below, into the folder that is there.
    if try library.isComplete(content, version)
      || library.finishInterrupted(content, version) && library.isComplete(content, version)
    {
      if switching { try library.advance(content, to: version) }
      return leaveStaging(of: download)
    }

    // Transfer and package: the signed index says what each piece and each file must be. Verified
    // members become files in staging while later ones arrive; what is at hand is not fetched.
    let (index, source) = try index(of: offer, job)
    let staging = try library.staging(for: download.id)
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
      PackageFetch.contentName, ofDownload: download.id,
      as: InstalledContent(offer, entries: files.count, date: clock.now()), files: files,
      signers: index.payload == nil ? nil : offer.signers, switching: switching)
    leaveStaging(of: download)
  }

  /// The index of `offer`'s package, and where to fetch its pieces.
  private func index(
    of offer: ContentOffer, _ job: DownloadJob
  ) throws -> (PackageIndex, any PieceSource) {
    let source = try pieceSource()
    // An update needs a part of the package only.
    if try library.journal.installed(offer.contentIdentifier).isEmpty,
      let whole = try WholePackage(of: offer, from: source, ticket: job.ticket)
    {
      return (whole.index, whole.file)
    }
    return (try PackageIndex(signedAs: offer, from: source, ticket: job.ticket), source)
  }

  /// Removes the staging of what is installed, or leaves it to the next start.
  private func leaveStaging(of download: DownloadRecord) {
    try? library.discardStaging(for: download.id)
  }
}

extension ContentLibrary {
  /// Throws `contentClaimed` when versions of `content` are installed for another product.
  ///
  /// Downloads of one content take turns, so that nobody else can install it meanwhile.
  fileprivate func checkOwner(
    of content: ProductIdentifier, is product: ProductIdentifier
  ) throws {
    let installed = try journal.installed(content).first { $0.productIdentifier != product }
    guard let owner = installed?.productIdentifier else { return }
    throw ContentError(
      .contentClaimed, "The content \(content) of \(product) is installed as one of \(owner)",
      remedy: "Remove it with hostedcontent remove if \(product) is to have it now",
      subject: product.rawValue)
  }
}

extension InstalledContent {
  init(_ offer: ContentOffer, entries: Int, date: Date) {
    self.init(
      contentIdentifier: offer.contentIdentifier, productIdentifier: offer.productIdentifier,
      version: offer.version, size: offer.installedSize, entryCount: entries, date: date)
  }
}
