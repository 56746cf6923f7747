import HostedModel

/// Reads the entries of a package of any format with libarchive.
///
/// It opens the layers and returns headers and data unchecked. It also detects two errors that
/// libarchive ignores: a tar that is truncated between entries, and wrong checksums in a xar.
final class PackageReader {
  let format: PackageFormat
  private(set) var containerFindings: [Finding] = []

  private let reader: ArchiveReader
  private let data: ArchiveStream
  private var checksums: [String: FileChecksum.Expected] = [:]
  private var meter: MeteredStream?
  /// Checks the bytes after the end of the decompressed archive.
  private var checkRest: () throws -> Void = {}

  private var checksum: FileChecksum?
  private var lastEntryEnd: Int64 = 0

  /// Opens the package; throws a finding if the format is unknown or the start is damaged.
  ///
  /// `members` takes the members of a flat product archive while its entries are read.
  init(_ source: any ByteSource, limits: PackageLimits, members: MemberScan?) throws {
    guard source.length <= limits.packageLength else {
      throw Finding.limit(
        "limit-package",
        "The package has \(source.length) bytes; the limit is \(limits.packageLength)")
    }
    // Headers also expand. Without a limit, they could be a decompression bomb.
    let limit = limits.plainLimit(packedLength: source.length) + Int64(limits.entryCount) * 4096
    let stream = SourceStream(source)
    switch try Container(source) {
    case .xar:
      let table = try XarTable(source)
      try table.checkData(in: source, limit: limit)
      if let product = try FlatProduct(table) {
        format = .flatProductArchive
        containerFindings = product.findings
        let (cpio, checkRest) = try product.openPayload(
          stream, source, limit: limit, members: members)
        self.checkRest = checkRest
        var scanner = CpioScanner(keepingEntries: false)
        let plain = ReadAheadStream.ifPossible(ScannedStream(cpio) { try scanner.push($0) })
        let metered = MeteredStream(plain, limit: limit)
        meter = metered
        reader = try ArchiveReader(metered, format: .cpio)
      } else {
        format = .xar
        // Duplicate paths are rejected anyway. Until then, use the first checksum.
        checksums = Dictionary(
          table.files.compactMap { file in file.checksum.map { (file.path, $0) } },
          uniquingKeysWith: { first, _ in first })
        reader = try ArchiveReader(stream, format: .xar)
      }
    case .zip:
      format = .zip
      try ZipDirectory.check(source, limits: limits)
      reader = try ArchiveReader(stream, format: .zip)
    case .tar(let filter):
      format = .tar
      var plain: any ByteStream
      (plain, checkRest) = try Self.plain(stream, filter, source)
      if filter != nil {
        // A cpio archive would look like a damaged tar.
        let first = try plain.next()
        if first.starts(with: Container.cpioMark) { throw Container.cpioFinding }
        plain = ReplayStream(first, then: plain)
      }
      let metered = MeteredStream(plain, limit: limit)
      meter = metered
      reader = try ArchiveReader(metered, format: .tar)
    }
    data = ArchiveStream(reader, of: source.length)
  }

  /// Returns the decompressed stream, and the check of the bytes after its end.
  private static func plain(
    _ stream: SourceStream, _ filter: ArchiveReader.Filter?, _ source: any ByteSource
  ) throws -> (any ByteStream, checkRest: () throws -> Void) {
    guard let filter else { return (stream, {}) }
    if filter == .gzip { return (try GzipStream(stream), {}) }
    // A separate reader, so that the bytes are metered before the tar reader gets them.
    let packed: any ByteStream =
      switch filter {
      case .xz: ScannedStream(stream, .xz)
      case .zstd: ScannedStream(stream, .zstd)
      case .gzip, .bzip2: stream
      }
    let plain = try ArchiveStream(packed, filter)
    // libarchive does not check this for bzip2.
    return (plain, filter == .bzip2 ? { try plain.reader.checkRest(of: source) } : {})
  }

  /// Returns the next entry, or nil at the end of a complete archive.
  func next() throws -> ArchiveEntry? {
    let entry =
      if let meter { try meter.readingHeader { try reader.next() } } else { try reader.next() }
    guard let entry else {
      try finish()
      return nil
    }
    let path = String(decoding: entry.path ?? [], as: UTF8.self)
    checksum = entry.kind == .file ? checksums[path].map { FileChecksum($0, of: path) } : nil
    return entry
  }

  /// Returns the next data of the entry, or an empty buffer at the end; valid until the next call.
  func nextBytes() throws -> UnsafeRawBufferPointer {
    let bytes = try data.next()
    if !bytes.isEmpty {
      try checksum?.update(bytes)
    } else {
      lastEntryEnd = reader.plainPosition
      try checksum?.check()
      checksum = nil
    }
    return bytes
  }

  /// Skips the data of the entry, and records where they end.
  func skipData() throws {
    try reader.skipData()
    lastEntryEnd = reader.plainPosition
    checksum = nil
  }

  private func finish() throws {
    // libarchive accepts the end of the file as the end of a tar. A complete tar has a block of
    // zeros there, which libarchive has consumed after the last entry and its padding.
    let paddedEnd = (lastEntryEnd + 511) / 512 * 512
    if format == .tar, reader.plainPosition < paddedEnd + 512 {
      throw Finding.damaged("The tar archive is truncated: its end-of-archive block is missing")
    }
    // Only padding may follow the last entry, since another program could read more bytes as
    // another archive. The compressed stream checks its own end.
    if let meter {
      try meter.skipRest()
      guard meter.lastMark <= reader.plainPosition else {
        throw Finding.damaged("The archive has extra bytes after its end")
      }
    }
    try checkRest()
  }
}
