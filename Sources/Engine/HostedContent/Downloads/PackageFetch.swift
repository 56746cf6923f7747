import Concurrency
import ContentLibrary
import ContentModel
import ContentPackage
import ContentTransfer
import FileIO

/// Fetches one package into a staging folder: every file whole, verified and in its place.
struct PackageFetch {
  /// The folder in staging that becomes the installed version.
  static let contentName = "content"
  /// Why a package is fetched whole whose index does not say it.
  static let noMembers = "Its index has no members"

  let offer: ContentOffer
  let index: PackageIndex
  let source: any PieceSource
  let job: DownloadJob
  /// As `Environment.assemblyWorkers`.
  let workers: Int?
  /// Whether each file is hashed and compared with what the index says of it.
  var comparesDigests = false
  /// Where it reserves what it needs before it writes anything.
  let space: SpaceReservation

  /// Bytes that a file's name and its record in the journal and in the journal's log take.
  private static let recordLength: Int64 = 512

  private var name: String { offer.package.path }

  private var recordBytes: Int64 { Int64(index.files.count) * Self.recordLength }

  /// Fetches the package into `staging` in the way that its index allows, if there is room.
  ///
  /// `trees` are asked for where files can be reused.
  func run(
    into staging: Directory, of library: ContentLibrary, reusing trees: () throws -> [ReusableTree]
  ) throws -> [InstalledFile] {
    do {
      guard index.payload == nil else {
        return try byMembers(into: staging, of: library, reusing: trees())
      }
      return try byBlocks(into: staging)
    } catch let error as ContentError where error.code == .diskFull {
      // Without a beginning it was refused for want of room, and says so.
      guard let work = job.work else { throw error }
      let spooled = index.payload == nil ? work.toFetch - work.fetched : 0
      throw space.error(lacking: spooled + work.toWrite - work.written, cause: error)
    }
  }

  /// Fetches the members that are missing, and makes files of them while later ones arrive.
  ///
  /// What staging holds from before is hashed again rather than written down: so a torn write is
  /// only a piece that is fetched once more. Space is reserved before anything is written.
  private func byMembers(
    into staging: Directory, of library: ContentLibrary, reusing trees: [ReusableTree]
  ) throws -> [InstalledFile] {
    job.enter(.verifying)
    let content = try staging.createDirectory(Self.contentName)
    let survey = try PackageSurvey(
      of: index, name: name, staging: content, reusing: trees, workers: workers,
      isStopped: { [job] in try job.checkStopped() })
    try space.reserve(
      survey.spaceToWrite(blockLength: staging.space().blockLength) + recordBytes
    ) { [job] in job.bytesWritten }
    job.begin(
      fetch: survey.missingBytes, write: survey.bytesToWrite, reused: survey.reusedBytes)
    job.enter(.downloading)
    let assembly = try PackageAssembly(
      survey, name: name, promise: UnpackPromise(offer, index), in: content, workers: workers,
      comparingDigests: comparesDigests, writeback: library.writeback,
      // What was fetched is written also when the work is stopped; the fetch is what ends.
      progress: { [job] in try? job.write($0) })
    let pieces = survey.missing.map {
      Piece(offset: $0.offset, length: $0.length, digest: $0.digest)
    }
    if !pieces.isEmpty {
      try source.fetch(pieces, of: offer.package, ticket: job.ticket) { piece, bytes in
        try assembly.take(bytes, at: piece.offset)
        try job.fetch(Int64(piece.length))
      }
    }
    job.enter(.unpacking)
    return try assembly.finish()
  }

  /// Fetches a package that cannot be taken apart, block by block, and unpacks it meanwhile.
  ///
  /// The verified blocks stay in staging until the files are installed, so that nothing is fetched
  /// twice. Unpacking starts again from the beginning, since a decoder's state does not survive a
  /// crash; so archive and files need space together, which is reserved before anything is fetched.
  private func byBlocks(into staging: Directory) throws -> [InstalledFile] {
    job.enter(.verifying)
    job.ticket.takeWhole(because: index.obstacle ?? Self.noMembers)
    let spool = try PackageSpool(
      in: staging, of: offer.package, index: index, isStopped: job.checkStopped)
    // Before the free space is measured.
    try staging.removeTree(Self.contentName)
    let missing = offer.package.length - spool.verifiedBytes
    let files = try index.files.spaceOnDisk(blockLength: staging.space().blockLength)
    try space.reserve(missing + files + recordBytes) { [job] in
      job.archiveBytes.fetched + job.bytesWritten
    }
    let content = try staging.createDirectory(Self.contentName, exclusive: true)
    job.begin(fetch: missing, write: index.installedSize, reused: spool.verifiedBytes)
    job.enter(.downloading)
    let work =
      workers == 0
      ? nil
      : try? SideWork {
        try unpack(spool, into: content)
      } onFailure: {
        spool.stopFetching($0)
      }
    guard let work else {
      // Without another thread one thing comes after the other.
      try spool.fetchMissing(from: source, ticket: job.ticket, progress: job.fetch)
      job.enter(.unpacking)
      return try unpack(spool, into: content)
    }
    let fetched = Result {
      try spool.fetchMissing(from: source, ticket: job.ticket, progress: job.fetch)
    }
    job.enter(.unpacking)
    let unpacked = work.result()
    try fetched.get()
    return try unpacked.get()
  }

  private func unpack(_ spool: PackageSpool, into content: Directory) throws -> [InstalledFile] {
    var written: Int64 = 0
    return try unpackPackage(
      spool, name: name, into: content, promise: UnpackPromise(offer, index)
    ) {
      try job.write($0 - written)
      written = $0
    }
  }
}

// The spool hands out verified bytes only, so an archive may be read from it.
extension PackageSpool: ByteSource {}

extension PackageIndex {
  /// Reads the index of `offer`'s package, after its length and digest were checked.
  ///
  /// Throws `storeDamaged` when it cannot be read, `formUnknown` when newer software wrote it,
  /// `digestMismatch` when it is of a package of
  /// another length, and what `source` throws.
  init(signedAs offer: ContentOffer, from source: any PieceSource, ticket: TransferTicket) throws {
    let file = offer.index
    let bytes = try source.contents(of: file, limit: Self.maximumLength, ticket: ticket)
    do {
      try self.init(encoded: bytes)
    } catch let error as ContentError where error.code == .formUnknown {
      throw error.about(file.path)
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
  /// sign the offer as well: so what a stolen key has signed does not outlive it. A version whose
  /// record cannot be read costs only what it could have given.
  func reusableTrees(for offer: ContentOffer) throws -> [ReusableTree] {
    let installed = try journal.installed(offer.contentIdentifier)
    return try installed.reversed().prefix(3).compactMap { content in
      guard let files = try recordedFiles(of: content) else { return nil }
      let signers = try journal.signers(of: content.contentIdentifier, content.version)
      return try reusableTree(
        of: content, files: files, isTrusted: signers == nil || signers == offer.signers)
    }
  }

  /// The `files` of one installed version; nil when it is not there, or being removed.
  func reusableTree(
    of content: InstalledContent, files: [InstalledFile], isTrusted: Bool
  ) throws -> ReusableTree? {
    let name = content.contentIdentifier.rawValue
    guard try folder.products.status(of: name)?.kind == .directory else { return nil }
    let home = try folder.products.directory(name)
    guard try home.status(of: content.version.rawValue)?.kind == .directory else { return nil }
    let root = try home.directory(content.version.rawValue)
    guard try root.tryLock(alone: false) else { return nil }
    return ReusableTree(root: root, files: files, isTrusted: isTrusted)
  }
}

extension UnpackPromise {
  init(_ offer: ContentOffer, _ index: PackageIndex) {
    self.init(
      productIdentifier: offer.productIdentifier, contentIdentifier: offer.contentIdentifier,
      version: offer.version, entries: index.files)
  }
}
