import ContentLibrary
import ContentModel
import ContentPackage
import ContentTransfer
import FileIO

/// Fetches one package into a staging folder: every file whole, verified and in its place.
struct PackageFetch {
  /// The folder in staging that becomes the installed version.
  static let contentName = "content"

  let offer: ContentOffer
  let index: PackageIndex
  let source: any PieceSource
  let board: WorkBoard
  /// As `Surroundings.assemblyWorkers`.
  let workers: Int?
  /// Whether each file is hashed and compared with what the index says of it.
  let comparesDigests: Bool

  private var name: String { offer.package.path }

  /// Fetches the members that are missing, and makes files of them while later ones arrive.
  ///
  /// What staging holds from before is hashed again rather than written down: so a torn write is only
  /// a piece that is fetched once more, and nothing is synced while it runs. `requireSpace` is
  /// asked before anything is written.
  func byMembers(
    into staging: Directory, reusing trees: [ReusableTree],
    requireSpace: (Int64, ProductIdentifier) throws -> Void
  ) throws -> [InstalledFile] {
    board.enter(.verifying)
    let content = try staging.createDirectory(Self.contentName)
    let survey = try PackageSurvey(
      of: index, name: name, staging: content, reusing: trees, workers: workers,
      isStopped: { [board] in try board.checkStopped() })
    try requireSpace(survey.bytesToWrite, offer.productIdentifier)
    board.begin(
      fetch: survey.missingBytes, write: survey.bytesToWrite, reused: survey.reusedBytes)
    board.enter(.downloading)
    let assembly = try PackageAssembly(
      survey, name: name, promise: UnpackPromise(offer, index), in: content, workers: workers,
      comparingDigests: comparesDigests,
      // What was fetched is written also when the work is stopped; the fetch is what ends.
      progress: { [board] in try? board.write($0) })
    let pieces = survey.missing.map {
      Piece(offset: $0.offset, length: $0.length, digest: $0.digest)
    }
    if !pieces.isEmpty {
      try source.fetch(pieces, of: offer.package, ticket: board.ticket) { piece, bytes in
        try assembly.take(bytes, at: piece.offset)
        try board.fetch(Int64(piece.length))
      }
    }
    board.enter(.unpacking)
    return try assembly.finish()
  }

  /// Fetches a package that cannot be taken apart, and then unpacks it.
  ///
  /// The archive stays in staging until it is unpacked, so that nothing verified is fetched again.
  func byBlocks(into staging: Directory, requireSpace: (Int64, ProductIdentifier) throws -> Void)
    throws -> [InstalledFile]
  {
    board.enter(.verifying)
    let spool = try PackageSpool(
      in: staging, of: offer.package, index: index, isStopped: board.checkStopped)
    let missing = offer.package.length - spool.verifiedBytes
    try staging.removeTree(Self.contentName)
    try requireSpace(missing + index.installedSize, offer.productIdentifier)
    board.begin(fetch: missing, write: index.installedSize, reused: spool.verifiedBytes)
    board.enter(.downloading)
    try spool.fetchMissing(from: source, ticket: board.ticket, progress: board.fetch)
    board.enter(.unpacking)
    let content = try staging.createDirectory(Self.contentName, exclusive: true)
    var written: Int64 = 0
    return try unpackPackage(
      spool, name: name, into: content, promise: UnpackPromise(offer, index)
    ) { total in
      try board.write(total - written)
      written = total
    }
  }
}

// The spool hands out verified bytes only, so an archive may be read from it.
extension PackageSpool: ByteSource {}

extension PackageIndex {
  /// Reads the index of `offer`'s package, after its length and digest were checked.
  ///
  /// Throws `storeDamaged` when it cannot be read, `digestMismatch` when it is of a package of
  /// another length, and what `source` throws.
  init(signedAs offer: ContentOffer, from source: any PieceSource, ticket: TransferTicket) throws {
    let file = offer.index
    let bytes = try source.contents(of: file, limit: Self.maximumLength, ticket: ticket)
    do {
      try self.init(encoded: bytes)
    } catch {
      throw ContentError(
        .storeDamaged, "The signed index \(file.path) cannot be read",
        remedy: "Ask the store's owner to publish the package again", subject: file.path,
        cause: "\(error)")
    }
    guard packageLength == offer.package.length else {
      throw ContentError(
        .digestMismatch,
        "The index of \(offer.package.path) does not describe a package of its length",
        remedy: "Ask the store's owner to publish it again", subject: offer.package.path)
    }
  }
}

extension ContentLibrary {
  /// Installed versions of the offer's content, whose unchanged files need not be fetched.
  ///
  /// Each is held against removal as long as its tree is used. The newest come first; a few are
  /// enough. Digests that were never compared with the files are taken on trust only from those who
  /// sign the offer as well: so what a stolen key has signed does not outlive it.
  func reusableTrees(for offer: ContentOffer) throws -> [ReusableTree] {
    let installed = try journal.installed(offer.contentIdentifier)
    return try installed.reversed().prefix(3).compactMap { content in
      let signers = try journal.signers(of: content.contentIdentifier, content.version)
      return try reusableTree(of: content, isTrusted: signers == nil || signers == offer.signers)
    }
  }

  /// The files of one installed version; nil when it is not there, or being removed.
  func reusableTree(of content: InstalledContent, isTrusted: Bool = true) throws -> ReusableTree? {
    let name = content.contentIdentifier.rawValue
    guard try folder.products.status(of: name)?.kind == .directory else { return nil }
    let home = try folder.products.directory(name)
    guard try home.status(of: content.version.rawValue)?.kind == .directory else { return nil }
    let root = try home.directory(content.version.rawValue)
    guard try root.tryLock(alone: false) else { return nil }
    return ReusableTree(
      root: root, files: try journal.files(of: content.contentIdentifier, content.version),
      isTrusted: isTrusted)
  }
}

extension UnpackPromise {
  init(_ offer: ContentOffer, _ index: PackageIndex) {
    self.init(
      productIdentifier: offer.productIdentifier, contentIdentifier: offer.contentIdentifier,
      version: offer.version, entries: index.files)
  }
}
