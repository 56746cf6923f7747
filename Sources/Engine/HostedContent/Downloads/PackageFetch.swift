import HostedConcurrency
import HostedLibrary
import HostedPackage
import HostedTransfer
import HostedFileIO

/// Fetches one package into a staging folder, and verifies and unpacks it there.
struct PackageFetch {
  /// The folder in staging that becomes the installed version.
  static let contentName = "content"
  /// The reason for fetching the whole package if the index does not give one.
  static let noMembers = "Its index does not list members"

  let offer: ContentOffer
  let index: PackageIndex
  let source: any PieceSource
  let job: DownloadJob
  /// See `Environment.assemblyWorkers`.
  let workers: Int?
  /// Whether each file is hashed and compared with its digest in the index.
  let comparesDigests: Bool
  /// Reserves the disk space before anything is written.
  let space: SpaceReservation

  /// The estimated size of a file's directory entry and journal records, in bytes.
  private static let recordLength: Int64 = 512

  private var name: String { offer.package.path }

  private var recordBytes: Int64 { Int64(index.files.count) * Self.recordLength }

  /// Fetches the package into `staging`, by members or by blocks as the index allows.
  ///
  /// Calls `trees` for installed versions with reusable files. Throws `diskFull` if space is
  /// missing.
  func run(
    into staging: Directory, of library: ContentLibrary, reusing trees: () throws -> [ReusableTree]
  ) throws -> [InstalledFile] {
    do {
      guard index.payload == nil else {
        return try byMembers(into: staging, of: library, reusing: trees())
      }
      return try byBlocks(into: staging)
    } catch let error as ContentError where error.code == .diskFull {
      // If the job has not begun, the reservation failed; its error already has the details.
      guard let work = job.work else { throw error }
      let spooled = index.payload == nil ? work.toFetch - work.fetched : 0
      throw space.error(lacking: spooled + work.toWrite - work.written, cause: error)
    }
  }

  /// Fetches missing members and unpacks them while later ones arrive.
  ///
  /// Files left in staging by an earlier attempt are hashed again, not looked up in a record. So a
  /// torn write costs only one more fetch of that piece. Space is reserved before anything is
  /// written.
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
      survey, name: name, expected: ExpectedPackage(offer, index), in: content, workers: workers,
      comparingDigests: comparesDigests, writeback: library.writeback,
      // Fetched bytes are written even after a stop: the fetch checks for it.
      progress: { [job] in try? job.write($0) })
    let pieces = survey.missingPieces
    if !pieces.isEmpty {
      try source.fetch(pieces, of: offer.package, ticket: job.ticket) { piece, bytes in
        try assembly.take(bytes, at: piece.offset)
        try job.fetch(Int64(piece.length))
      }
    }
    job.enter(.unpacking)
    return try assembly.finish()
  }

  /// Fetches a package that cannot be split into members, by blocks, and unpacks it meanwhile.
  ///
  /// The verified blocks stay in staging until the files are installed, so nothing is fetched
  /// twice. Each attempt unpacks from the beginning, because a decoder's state does not survive a
  /// crash. Archive and files therefore need space at the same time, which is reserved before
  /// anything is fetched.
  private func byBlocks(into staging: Directory) throws -> [InstalledFile] {
    job.enter(.verifying)
    job.ticket.takeWhole(because: index.obstacle ?? Self.noMembers)
    let spool = try PackageSpool(
      in: staging, of: offer.package, index: index, isStopped: job.checkStopped)
    // Before free space is measured.
    try staging.removeTree(Self.contentName)
    let missing = offer.package.length - spool.verifiedBytes
    let files = try index.files.spaceOnDisk(blockLength: staging.space().blockLength)
    try space.reserve(missing + files + recordBytes) { [job] in
      job.bytesFetched + job.bytesWritten
    }
    let content = try staging.createDirectory(Self.contentName, exclusive: true)
    job.begin(fetch: missing, write: index.installedSize, reused: spool.verifiedBytes)
    job.enter(.downloading)
    // Nil if no thread is available: then the package is unpacked after it is fetched.
    let work =
      workers == 0
      ? nil
      : try? SideWork {
        try unpack(spool, into: content)
      } onFailure: {
        spool.stopFetching($0)
      }
    let fetched = Result {
      try spool.fetchMissing(from: source, ticket: job.ticket, progress: job.fetch)
    }
    job.enter(.unpacking)
    let unpacked = work?.result()
    try fetched.get()
    return try unpacked?.get() ?? unpack(spool, into: content)
  }

  private func unpack(_ spool: PackageSpool, into content: Directory) throws -> [InstalledFile] {
    var written: Int64 = 0
    return try unpackPackage(
      spool, name: name, into: content, expected: ExpectedPackage(offer, index)
    ) {
      try job.write($0 - written)
      written = $0
    }
  }
}

// A spool returns only verified bytes, so an archive can be read from it.
extension PackageSpool: ByteSource {}

extension PackageIndex {
  /// Reads the index of the package of `offer`, and checks its length and digest.
  ///
  /// Throws `storeDamaged` if it cannot be read, `formatUnknown` if newer software wrote it,
  /// `digestMismatch` if it describes a package of another length, and any error of `source`.
  init(signedAs offer: ContentOffer, from source: any PieceSource, ticket: TransferTicket) throws {
    let file = offer.index
    let bytes = try source.contents(of: file, limit: Self.maximumLength, ticket: ticket)
    do {
      try self.init(encoded: bytes)
    } catch let error as ContentError where error.code == .formatUnknown {
      throw error.about(file.path)
    } catch {
      throw ContentError(
        .storeDamaged, "Cannot read the signed index \(file.path)",
        remedy: "Ask the store's owner to publish the package again", subject: file.path,
        cause: "\(error)")
    }
    guard packageLength == offer.package.length else {
      throw ContentError(
        .digestMismatch,
        "The index of \(offer.package.path) is for a package of another length",
        remedy: "Ask the store's owner to publish the package again", subject: offer.package.path)
    }
  }
}

extension PackageSurvey {
  var missingPieces: [Piece] {
    missing.map { Piece(offset: $0.offset, length: $0.length, digest: $0.digest) }
  }
}

extension ExpectedPackage {
  fileprivate init(_ offer: ContentOffer, _ index: PackageIndex) {
    self.init(
      ContentInfo(
        productIdentifier: offer.productIdentifier, contentIdentifier: offer.contentIdentifier,
        version: offer.version), entries: index.files)
  }
}
