import ContentLibrary
import ContentModel
import ContentPackage
import ContentTransfer
import FileIO
import FoundationEssentials

/// The whole way of one download, from a signed offer to an installed version.
struct Pipeline: Sendable {
  let library: ContentLibrary
  let store: StoreLocation
  let clock: EngineClock

  /// Where in a download's staging folder its files are unpacked.
  private static let unpackedName = "content"

  /// Fetches, verifies, unpacks and installs `download`; blocks, durable when it returns.
  ///
  /// Throws a `ContentError` when it fails, `stopped` when `board` was stopped; what was fetched
  /// and verified then stays in staging.
  func run(_ download: DownloadRecord, board: WorkBoard) throws {
    let offer = download.offer
    // What is installed is not fetched again: after a crash, an update, a second purchase.
    if try library.isInstalled(offer.contentIdentifier, offer.version) {
      return try library.discardStaging(for: download.id)
    }

    // Transfer: the signed index says what each piece must be; only verified pieces are kept.
    let source = try store.pieceSource()
    let index = try PackageIndex(signedAs: offer.index, from: source)
    let staging = try library.staging(for: download.id)
    let spool = try PackageSpool(
      in: staging, of: offer.package, index: index, isStopped: board.checkStopped)
    let missing = offer.package.length - spool.verifiedBytes
    try staging.removeTree(Self.unpackedName)
    try library.requireSpace(missing + index.installedSize, for: offer.productIdentifier)
    board.begin(total: missing + index.installedSize)
    try spool.fetchMissing(from: source, progress: board.advance)

    // Package: verified bytes become files in staging; plist and files must be as promised.
    let unpacked = try staging.createDirectory(Self.unpackedName, exclusive: true)
    var written: Int64 = 0
    let files = try unpackPackage(
      spool, name: offer.package.path, into: unpacked, promise: UnpackPromise(offer, index)
    ) { total in
      try board.advance(total - written)
      written = total
    }

    // Library: one rename makes the version appear, another makes it current.
    try library.install(
      Self.unpackedName, of: staging,
      as: InstalledContent(offer, entries: files.count, date: clock.now()), files: files)
    try library.discardStaging(for: download.id)
  }
}

// The spool hands out verified bytes only, so an archive may be read from it.
extension PackageSpool: ByteSource {}

extension PackageIndex {
  /// Reads the index that `file` names, after its length and digest were checked.
  init(signedAs file: SignedFile, from source: any PieceSource) throws {
    let bytes = try source.contents(of: file, limit: Self.maximumLength)
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

extension UnpackPromise {
  init(_ offer: ContentOffer, _ index: PackageIndex) {
    self.init(
      productIdentifier: offer.productIdentifier, version: offer.version, entries: index.files)
  }
}

extension InstalledContent {
  init(_ offer: ContentOffer, entries: Int, date: Date) {
    self.init(
      contentIdentifier: offer.contentIdentifier, productIdentifier: offer.productIdentifier,
      version: offer.version, size: offer.installedSize, entryCount: entries, date: date)
  }
}
