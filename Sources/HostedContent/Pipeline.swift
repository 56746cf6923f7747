import ContentLibrary
import ContentModel
import ContentPackage
import ContentTransfer
import FileIO
import FoundationEssentials

/// The whole way of one download, from a signed offer to an installed version.
struct Pipeline: Sendable {
  let library: ContentLibrary
  let store: StoreAccess
  let clock: EngineClock

  /// Where in a download's staging folder its files are unpacked.
  private static let unpackedName = "content"

  /// Fetches, verifies, unpacks and installs `download`; blocks, durable when it returns.
  ///
  /// Throws a `ContentError` when it fails, `stopped` when `board` was stopped; what was fetched
  /// and verified then stays in staging.
  func run(_ download: DownloadRecord, board: WorkBoard) throws {
    let offer = download.offer
    // Whatever a seller says, one product's content never gets into another one's folder.
    try library.checkOwner(of: offer.contentIdentifier, is: offer.productIdentifier)
    // What is installed is not fetched again: after a crash, an update, a second purchase.
    let switching = download.keepsCurrent != true
    if try library.isInstalled(offer.contentIdentifier, offer.version) {
      if switching { try library.advance(offer.contentIdentifier, to: offer.version) }
      return try library.discardStaging(for: download.id)
    }

    // Transfer: the signed index says what each piece must be; only verified pieces are kept.
    let source = try store.pieceSource()
    let index = try PackageIndex(signedAs: offer.index, from: source, ticket: board.ticket)
    board.enter(.verifying)
    let staging = try library.staging(for: download.id)
    let spool = try PackageSpool(
      in: staging, of: offer.package, index: index, isStopped: board.checkStopped)
    let missing = offer.package.length - spool.verifiedBytes
    try staging.removeTree(Self.unpackedName)
    try library.requireSpace(missing + index.installedSize, for: offer.productIdentifier)
    board.begin(fetch: missing, write: index.installedSize, reused: spool.verifiedBytes)
    board.enter(.downloading)
    try spool.fetchMissing(from: source, ticket: board.ticket, progress: board.fetch)

    board.enter(.unpacking)

    // Package: verified bytes become files in staging; plist and files must be as promised.
    let unpacked = try staging.createDirectory(Self.unpackedName, exclusive: true)
    var written: Int64 = 0
    let files = try unpackPackage(
      spool, name: offer.package.path, into: unpacked, promise: UnpackPromise(offer, index)
    ) { total in
      try board.write(total - written)
      written = total
    }

    board.enter(.installing)

    // Library: one rename makes the version appear, another makes it current.
    try library.install(
      Self.unpackedName, of: staging,
      as: InstalledContent(offer, entries: files.count, date: clock.now()), files: files,
      switching: switching)
    try library.discardStaging(for: download.id)
  }
}

// The spool hands out verified bytes only, so an archive may be read from it.
extension PackageSpool: ByteSource {}

extension PackageIndex {
  /// Reads the index that `file` names, after its length and digest were checked.
  init(
    signedAs file: SignedFile, from source: any PieceSource, ticket: TransferTicket
  ) throws {
    let bytes = try source.contents(of: file, limit: Self.maximumLength, ticket: ticket)
    do {
      self = try JSONDecoder().decode(PackageIndex.self, from: Data(bytes))
    } catch {
      throw ContentError(
        .storeDamaged, "The signed index \(file.path) cannot be read",
        remedy: "Ask the store's owner to publish the package again", subject: file.path,
        cause: "\(error)")
    }
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

extension UnpackPromise {
  init(_ offer: ContentOffer, _ index: PackageIndex) {
    self.init(
      productIdentifier: offer.productIdentifier, contentIdentifier: offer.contentIdentifier,
      version: offer.version, entries: index.files)
  }
}

extension InstalledContent {
  init(_ offer: ContentOffer, entries: Int, date: Date) {
    self.init(
      contentIdentifier: offer.contentIdentifier, productIdentifier: offer.productIdentifier,
      version: offer.version, size: offer.installedSize, entryCount: entries, date: date)
  }
}
