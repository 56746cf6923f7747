import HostedModel

/// The names and checksums in the table of contents of a xar archive.
///
/// libarchive reads the archive. This table determines which of the two xar formats it has. It also
/// provides the checksums of files, because libarchive 3.6.2 does not detect a wrong one. Source:
/// the xar format, header and table of contents.
struct XarTable {
  struct File {
    /// The path from the archive's root.
    let path: String
    /// The checksum of the extracted bytes, or nil if the table has no supported one.
    let checksum: FileChecksum.Expected?
    /// The range of a file that is stored uncompressed, or nil if it is encoded or not given.
    let storedRange: Range<Int64>?
  }

  let files: [File]

  /// The ranges of files and extended attributes whose format declares a window.
  private let windows: [(format: WindowScanner.Format, range: Range<Int64>)]
  /// The packed bytes of all files and extended attributes; shared bytes count several times.
  private let packedTotal: Int64

  static let headerLength = 28
  private static let packedLimit: UInt64 = 8 << 20
  private static let plainLimit: UInt64 = 32 << 20

  /// Throws a finding if the table is damaged or too long, or if libarchive does not support the
  /// algorithm of its digest.
  init(_ source: any ByteSource) throws {
    let header = try source.bytes(at: 0, count: Self.headerLength)
    guard header.count == Self.headerLength, header.starts(with: Array("xar!".utf8)) else {
      throw Finding.damaged("The xar header is truncated")
    }
    let headerLength = header.bigEndian(4, 2)
    let packedLength = header.bigEndian(8, 8)
    let plainLength = header.bigEndian(16, 8)
    try Self.checkDigest(header.bigEndian(24, 4))
    guard packedLength <= Self.packedLimit, plainLength <= Self.plainLimit else {
      throw Finding.limit(
        "limit-table", "The xar table of contents has \(plainLength) bytes, which is too long")
    }
    guard headerLength >= Self.headerLength else {
      throw Finding.damaged("The xar header is truncated")
    }
    var reader = XarTableReader()
    // Passed directly, so that the document is freed before the files are created.
    try reader.read(
      Self.document(source, at: headerLength, Int(packedLength), plainLength: Int(plainLength)))
    let heap = Int64(headerLength + packedLength)
    // Returns a range of the heap as a range of the package, or nil if it is too long.
    func placed(_ range: Range<Int64>) -> Range<Int64>? {
      range.upperBound <= source.length - heap
        ? (range.lowerBound + heap)..<(range.upperBound + heap) : nil
    }
    windows = try reader.windows.map { format, range in
      // libarchive would read what there is before it reports the end.
      guard let range = placed(range) else {
        throw XarTableReader.refused("has a file that ends after the archive")
      }
      return (format, range)
    }
    packedTotal = reader.lengths.reduce(0) { $0 + min($1, source.length) }
    files = reader.files.map {
      File(path: $0.path, checksum: $0.checksum, storedRange: $0.storedRange.flatMap(placed))
    }
  }

  /// Throws a finding if reading the data of all entries needs too much time or memory.
  ///
  /// Data may overlap, and packed data may have no content. Without `limit`, in bytes, a small
  /// archive could have 40,000 entries that each contain nearly all of its bytes.
  func checkData(in source: any ByteSource, limit: Int64) throws {
    guard packedTotal <= limit else {
      throw Finding.limit(
        "limit-size",
        "The files of the xar archive have \(packedTotal) packed bytes; the limit is \(limit)")
    }
    for (format, range) in windows {
      try WindowCheck(SourceStream(source, range), format).skipRest()
    }
  }

  private static func document(
    _ source: any ByteSource, at offset: UInt64, _ packedLength: Int, plainLength: Int
  ) throws -> [UInt8] {
    let packed = try source.bytes(at: offset, count: packedLength)
    guard packed.count == packedLength,
      let plain = try Decompressor().decompressStream(packed, length: plainLength)
    else {
      throw Finding.damaged("The xar table of contents is damaged or truncated")
    }
    return plain
  }

  private static func checkDigest(_ number: UInt64) throws {
    let name = number == 3 ? "SHA-256" : number == 4 ? "SHA-512" : nil
    guard number > 2 else { return }
    throw Finding.format(
      "xar-table-digest",
      "The digest of the xar table of contents is \(name ?? "number \(number)"), which "
        + "libarchive 3.6.2 does not support",
      remedy: "Build it with productbuild, or with xar --toc-cksum sha1")
  }
}
