import HostedModel

/// The central directory of a zip archive, compared with the local headers.
///
/// A zip stores everything twice. libarchive uses the names of the local headers, while most
/// programs use those of the directory. Both must be equal here, and each byte must belong to
/// exactly one entry, to the directory or to the end records. Source: APPNOTE.TXT 6.3, §4.3 to
/// §4.5.
struct ZipDirectory {
  /// An entry as described by one of its two headers.
  struct Entry {
    var name: ArraySlice<UInt8>
    let flags: UInt64
    let method: UInt64
    let checksum: UInt64
    var packedLength: UInt64
    var plainLength: UInt64
    /// The start offset of its local header.
    var offset: UInt64 = 0
  }

  // A directory within the limits of names and entries is not longer.
  private static let lengthLimit: UInt64 = 64 << 20
  private static let entryLength = 46
  private static let localLength = 30

  private let source: any ByteSource
  private let end: ZipEnd

  /// Checks the archive in `source`; throws a finding if its parts are inconsistent.
  static func check(_ source: any ByteSource, limits: PackageLimits) throws {
    let directory = ZipDirectory(source: source, end: try ZipEnd(source))
    guard directory.end.count <= UInt64(limits.entryCount), directory.end.length <= lengthLimit
    else {
      throw Finding.limit(
        "limit-entries", "The zip archive has \(directory.end.count) entries, which is too many")
    }
    let entries = try directory.entries().sorted { $0.offset < $1.offset }
    var next: UInt64 = 0
    for (index, entry) in entries.enumerated() {
      guard entry.offset == next else {
        throw Self.refused(
          entry.offset < next
            ? "has overlapping entries, such as \(Self.shown(entry))"
            : "has \(entry.offset - next) bytes that do not belong to an entry")
      }
      // The directory is inside the archive, but an offset can be any number.
      let following = entries.dropFirst(index + 1).first?.offset ?? .max
      next = try directory.checkLocal(
        entry, following: min(following, directory.end.directoryOffset))
    }
    guard next == directory.end.directoryOffset else {
      throw Self.refused("has bytes that do not belong to an entry")
    }
  }

  static func refused(_ what: String) -> Finding { .damaged("The zip archive \(what)") }

  private static func shown(_ entry: Entry) -> String { "“\(PathRules.shown(Array(entry.name)))”" }

  // MARK: Central directory

  private func entries() throws -> [Entry] {
    let bytes = try source.bytes(at: end.directoryOffset, count: Int(end.length))
    var rest = bytes[...]
    var entries: [Entry] = []
    while !rest.isEmpty {
      guard rest.starts(with: [0x50, 0x4b, 1, 2]), rest.count >= Self.entryLength,
        UInt64(entries.count) < end.count
      else { throw Self.refused("has a damaged central directory") }
      let lengths = [28, 30, 32].map { Int(rest.littleEndian($0, 2)) }
      let total = Self.entryLength + lengths.reduce(0, +)
      guard rest.count >= total, rest.littleEndian(34, 2) == 0 else {
        throw Self.refused("has a damaged central directory")
      }
      var entry = Entry(
        name: rest.part(Self.entryLength, lengths[0]), flags: rest.littleEndian(8, 2),
        method: rest.littleEndian(10, 2), checksum: rest.littleEndian(16, 4),
        packedLength: rest.littleEndian(20, 4), plainLength: rest.littleEndian(24, 4),
        offset: rest.littleEndian(42, 4))
      try entry.takeExtra(rest.part(Self.entryLength + lengths[0], lengths[1]), isLocal: false)
      try Self.check(entry, host: rest.littleEndian(5, 1), attributes: rest.littleEndian(38, 4))
      entries.append(entry)
      rest = rest.dropFirst(total)
    }
    guard UInt64(entries.count) == end.count else {
      throw Self.refused("has \(entries.count) entries, expected \(end.count)")
    }
    return entries
  }

  /// Throws for entries that libarchive would turn into a plain file or a plain name.
  private static func check(_ entry: Entry, host: UInt64, attributes: UInt64) throws {
    let name = PathRules.shown(Array(entry.name))
    guard entry.name.count <= PackageLimits.headerPathLength else {
      throw Finding.entry(
        "path-length", "The path “\(name)” has \(entry.name.count) bytes", path: name)
    }
    if entry.name.contains(UInt8(ascii: "\\")) {
      throw Finding.entry(
        "path-backslash", "The path “\(name)” contains a backslash", path: name)
    }
    try checkCompression(entry, name)
    // Unix or macOS: the upper 16 bits are st_mode.
    guard host == 3 || host == 19 else { return }
    guard [0, 0o040000, 0o100000, 0o120000].contains(attributes >> 16 & 0o170000) else {
      throw Finding.entry("entry-type", "“\(name)” is not a file, folder or link", path: name)
    }
  }

  /// Throws for valid but unsupported entries (APPNOTE.TXT 6.3, §4.4.4 and §4.4.5).
  private static func checkCompression(_ entry: Entry, _ name: String) throws {
    guard entry.flags & 1 == 0, entry.method != 99 else {
      throw Finding.format(
        "format-encrypted", "“\(name)” is encrypted, which is not supported",
        remedy: "Build the zip without a password")
    }
    // Stored, Deflate, bzip2, LZMA, Zstandard, xz and PPMd, if libarchive was built with them.
    guard ![0, 8, 12, 14, 93, 95, 98].contains(entry.method) else { return }
    let method = entry.method == 9 ? "Deflate64" : "\(entry.method)"
    throw Finding.format(
      "format-compression", "“\(name)” has the unsupported compression method \(method)",
      remedy: "Build the zip with Deflate, the default of zip")
  }

  // MARK: Local headers

  /// Compares the local header of `entry`.
  ///
  /// Returns the end offset of the entry. A data descriptor can follow the data. Its length is
  /// known only from the offset of the `following` part.
  private func checkLocal(_ entry: Entry, following: UInt64) throws -> UInt64 {
    let fixed = try source.bytes(at: entry.offset, count: Self.localLength)[...]
    guard fixed.starts(with: [0x50, 0x4b, 3, 4]), fixed.count == Self.localLength else {
      throw Self.refused(
        "has no local header at the offset in its directory, for \(Self.shown(entry))")
    }
    let nameLength = Int(fixed.littleEndian(26, 2))
    let extraLength = Int(fixed.littleEndian(28, 2))
    let headerEnd = entry.offset + UInt64(Self.localLength)
    let rest = try source.bytes(at: headerEnd, count: nameLength + extraLength)[...]
    var local = Entry(
      name: rest.part(0, nameLength), flags: fixed.littleEndian(6, 2),
      method: fixed.littleEndian(8, 2), checksum: fixed.littleEndian(14, 4),
      packedLength: fixed.littleEndian(18, 4), plainLength: fixed.littleEndian(22, 4))
    try local.takeExtra(rest.part(nameLength, extraLength), isLocal: true)
    guard rest.count == nameLength + extraLength, local.agrees(with: entry) else {
      throw Self.refused(
        "has a local header that differs from the directory, for \(Self.shown(entry))")
    }
    let start = headerEnd + UInt64(rest.count)
    let (dataEnd, overflow) = start.addingReportingOverflow(entry.packedLength)
    guard !overflow, dataEnd <= following else {
      throw Self.refused("has overlapping entries, such as \(Self.shown(entry))")
    }
    try checkWindow(local, Int64(start)..<Int64(dataEnd))
    // A checksum and two lengths of 4 or 8 bytes, with or without a signature.
    let descriptor = following - dataEnd
    return local.hasDescriptor && [12, 16, 20, 24].contains(descriptor) ? following : dataEnd
  }

  /// Throws if the decoder needs too much memory for the data of `local`, which are in `range`.
  ///
  /// Source: APPNOTE.TXT 6.3, §5.8 and §5.10.
  private func checkWindow(_ local: Entry, _ range: Range<Int64>) throws {
    let method = local.method
    // Data fill a window only up to their length, which can be unknown with a data descriptor.
    // 7-Zip declares 32 MiB for each file of a large archive.
    let isShort = !local.hasDescriptor && local.plainLength <= WindowScanner.limit
    guard !range.isEmpty, !isShort || method == 98 else { return }
    let length = method == 14 ? 9 : method == 98 ? 2 : 0
    let header = try source.bytes(
      at: UInt64(range.lowerBound), count: min(length, range.count))[...]
    // LZMA begins with a version and the length of the properties.
    guard header.count == length, method != 14 || header.littleEndian(2, 2) == 5 else {
      throw Self.refused("has an entry with damaged data")
    }
    switch method {
    case 14: try WindowScanner.check(window: header.littleEndian(5, 4))
    // PPMd begins with four bits of the order, and eight bits of the megabytes less one.
    case 98: try WindowScanner.check(window: ((header.littleEndian(0, 2) >> 4 & 0xff) + 1) << 20)
    case 93: try ScannedStream(SourceStream(source, range), .zstd).skipRest()
    case 95: try ScannedStream(SourceStream(source, range), .xz).skipRest()
    default: break
    }
  }
}

extension ZipDirectory.Entry {
  private static let unknown: UInt64 = 0xffff_ffff

  var hasDescriptor: Bool { flags & 8 != 0 }

  /// Returns whether a local header matches its entry in the directory.
  func agrees(with central: Self) -> Bool {
    // Encryption, the encoding of the name, a masked header.
    let compared: UInt64 = 1 | 1 << 11 | 1 << 13
    guard name.elementsEqual(central.name), method == central.method,
      flags & compared == central.flags & compared
    else { return false }
    let values = [
      (checksum, central.checksum), (packedLength, central.packedLength),
      (plainLength, central.plainLength),
    ]
    return values.allSatisfy { local, known in
      local == known || hasDescriptor && (local == 0 || local == Self.unknown)
    }
  }

  /// Reads 64-bit lengths; throws if a second name (0x7075) differs.
  mutating func takeExtra(_ bytes: ArraySlice<UInt8>, isLocal: Bool) throws {
    var rest = bytes
    var hasLengths = false
    while rest.count >= 4 {
      let length = Int(rest.littleEndian(2, 2))
      guard rest.count >= 4 + length else { break }
      let field = rest.part(4, length)
      switch rest.littleEndian(0, 2) {
      case 1 where hasLengths: throw ZipDirectory.refused("has an entry with two lengths")
      case 1:
        hasLengths = true
        try takeLengths(field, isLocal: isLocal)
      case 0x7075 where !field.dropFirst(5).elementsEqual(name):
        throw ZipDirectory.refused("has an entry with two names")
      default: break
      }
      rest = rest.dropFirst(4 + length)
    }
  }

  /// Reads 64-bit lengths: only the values that do not fit into the header, in this order.
  private mutating func takeLengths(_ field: ArraySlice<UInt8>, isLocal: Bool) throws {
    var rest = field
    func next() throws -> UInt64 {
      guard rest.count >= 8 else {
        throw ZipDirectory.refused("has an entry without its 64-bit length")
      }
      defer { rest = rest.dropFirst(8) }
      return rest.littleEndian(0, 8)
    }
    if plainLength == Self.unknown { plainLength = try next() }
    if packedLength == Self.unknown { packedLength = try next() }
    if !isLocal, offset == Self.unknown { offset = try next() }
  }
}

/// The end records of a zip archive, which locate its directory.
private struct ZipEnd {
  /// The number of entries in the directory; then its offset and its length, in bytes.
  let count: UInt64
  let directoryOffset: UInt64
  let length: UInt64

  private static let recordLength = 22
  private static let locatorLength = 20

  /// Finds the end record; throws a finding if it does not end at the end of the archive.
  init(_ source: any ByteSource) throws {
    let tailStart = UInt64(max(0, source.length - Int64(Self.recordLength + 0xffff)))
    let tail = try source.bytes(at: tailStart, count: Self.recordLength + 0xffff)
    let last = tail.indices.dropLast(Self.recordLength - 1).last {
      tail[$0] == 0x50 && tail[$0...].starts(with: [0x50, 0x4b, 5, 6])
    }
    guard let last else { throw ZipDirectory.refused("has no end record") }
    let record = tail[last...]
    guard record.count == Self.recordLength + Int(record.littleEndian(20, 2)) else {
      throw ZipDirectory.refused("has extra bytes after its end")
    }
    let here = Values(record, at: 8, width: 2)
    guard record.littleEndian(4, 4) == 0, here.countHere == here.count else {
      throw ZipDirectory.refused("is one part of a multi-part archive")
    }
    var values = here
    var start = tailStart + UInt64(last)
    let locator = try start < 20 ? [] : source.bytes(at: start - 20, count: Self.locatorLength)
    if locator.starts(with: [0x50, 0x4b, 6, 7]) {
      let offset = locator.littleEndian(8, 8)
      values = try Self.large(source, at: offset, upTo: start - UInt64(Self.locatorLength))
      guard here.fits(values) else { throw ZipDirectory.refused("has two end records that differ") }
      start = offset
    }
    let (end, overflow) = values.offset.addingReportingOverflow(values.length)
    guard !overflow, end == start else {
      throw ZipDirectory.refused("has bytes between its directory and its end record")
    }
    (count, directoryOffset, length) = (values.count, values.offset, values.length)
  }

  /// The fields that both kinds of end records have, in this order.
  private struct Values {
    let countHere, count, length, offset: UInt64

    init(_ bytes: ArraySlice<UInt8>, at start: Int, width: Int) {
      let wide = width == 2 ? 4 : 8
      countHere = bytes.littleEndian(start, width)
      count = bytes.littleEndian(start + width, width)
      length = bytes.littleEndian(start + 2 * width, wide)
      offset = bytes.littleEndian(start + 2 * width + wide, wide)
    }

    /// Returns whether a 32-bit record matches a 64-bit one, or refers to it.
    func fits(_ large: Values) -> Bool {
      (count == large.count || count == 0xffff)
        && (length == large.length || length == 0xffff_ffff)
        && (offset == large.offset || offset == 0xffff_ffff)
    }
  }

  /// Reads the 64-bit end record, which must end at `end`.
  private static func large(_ source: any ByteSource, at offset: UInt64, upTo end: UInt64) throws
    -> Values
  {
    guard offset < end, end - offset >= 56, end - offset <= 4096 else {
      throw ZipDirectory.refused("has no zip64 end record at the offset in its locator")
    }
    let record = try source.bytes(at: offset, count: Int(end - offset))[...]
    guard record.starts(with: [0x50, 0x4b, 6, 6]), record.count == Int(end - offset),
      record.littleEndian(4, 8) == end - offset - 12, record.littleEndian(16, 8) == 0
    else { throw ZipDirectory.refused("has no zip64 end record at the offset in its locator") }
    let values = Values(record, at: 24, width: 8)
    guard values.countHere == values.count else {
      throw ZipDirectory.refused("is one part of a multi-part archive")
    }
    return values
  }
}
