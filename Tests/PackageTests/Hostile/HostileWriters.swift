import Testing

/// The formats of attacks.
///
/// Their writers check nothing.
enum HostileForm: String, CaseIterable, CustomTestStringConvertible {
  case ustar, pax, gnu, odc, newc, pbzx, zip, xar

  var testDescription: String { rawValue }

  /// Returns an archive of this form.
  ///
  /// A cpio archive is the payload of a product archive.
  func archive(_ entries: [RawEntry]) -> [UInt8] {
    switch self {
    case .ustar: tar(entries)
    case .pax: tar(entries.flatMap { [paxHeader(["path": $0.path, "linkpath": $0.link]), $0] })
    case .gnu: tar(entries.flatMap { [gnuHeader("L", $0.path), gnuHeader("K", $0.link), $0] })
    case .odc: product(cpio(entries))
    case .newc: product(cpioNewc(entries))
    case .pbzx: product(storedPbzx(cpio(entries), chunk: 512))
    case .zip: ZipWriter(entries).bytes
    case .xar: XarWriter(entries).bytes
    }
  }
}

/// Creates an extended header with these records.
///
/// Records without a value are omitted.
func paxHeader(_ records: [String: [UInt8]]) -> RawEntry {
  let bytes = records.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
    .flatMap { paxRecord($0.key, $0.value) }
  return RawEntry(path: Array("PaxHeader".utf8), type: UInt8(ascii: "x"), data: bytes)
}

/// Creates a record of an extended header.
///
/// Its length includes itself.
func paxRecord(_ key: String, _ value: [UInt8]) -> [UInt8] {
  let rest = Array(" \(key)=".utf8) + value + [10]
  var length = rest.count + 1
  while "\(length)".utf8.count + rest.count != length { length += 1 }
  return Array("\(length)".utf8) + rest
}

/// Creates a long name (L) or a long target (K) of the next entry.
func gnuHeader(_ type: Character, _ name: [UInt8]) -> RawEntry {
  RawEntry(
    path: Array("././@LongLink".utf8), type: type.asciiValue ?? 0, data: name + [0])
}

/// Creates a product archive around a payload.
func product(_ payload: [UInt8]) -> [UInt8] {
  productWriter(["chapter.pkg": ["Payload": payload]]).bytes
}

/// Creates a product archive of components with these files.
func productWriter(_ components: [String: [String: [UInt8]]]) -> XarWriter {
  var writer = XarWriter([.file("Distribution", "<installer-gui-script/>")])
  var id = 1
  for (component, files) in components.sorted(by: { $0.key < $1.key }) {
    id += 1
    writer.files += "<file id=\"\(id)\"><name>\(component)</name><type>directory</type>"
    for (name, data) in files.sorted(by: { $0.key < $1.key }) {
      id += 1
      let entry = RawEntry(path: Array(name.utf8), data: data)
      writer.files += XarWriter.file(entry, id: id, offset: writer.heap.count)
      writer.heap += data
    }
    writer.files += "</file>"
  }
  return writer
}

/// Creates a newc archive.
///
/// A hard link has the inode of its target and no data.
func cpioNewc(_ entries: [RawEntry]) -> [UInt8] {
  func hex(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
  }
  func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }
  let trailer = RawEntry(path: Array("TRAILER!!!".utf8), mode: 0)
  return (entries + [trailer]).enumerated().flatMap { number, entry in
    let data = entry.link.isEmpty ? entry.data : entry.link
    let fields = [
      number + 1, entry.unixMode, 0, 0, 1, 0, entry.size ?? data.count, 0, 0, 0, 0,
      entry.path.count + 1, 0,
    ]
    let header = "070701" + fields.map(hex).joined()
    return padded(Array(header.utf8) + entry.path + [0]) + padded(data)
  }
}

extension RawEntry {
  /// The type and permissions in cpio and zip.
  var unixMode: Int {
    let kinds: [Character: Int] = [
      "5": 0o040000, "2": 0o120000, "3": 0o020000, "4": 0o060000, "6": 0o010000, "s": 0o140000,
    ]
    return (kinds[Character(UnicodeScalar(type))] ?? 0o100000) | mode
  }
}

// MARK: zip

/// A writer for zips of stored entries, with configurable headers, directory and end record.
struct ZipWriter {
  /// The values of one of the two headers of an entry.
  struct Header {
    var name: [UInt8]
    var flags = 1 << 11
    var method = 0
    var checksum: Int
    var packed: Int
    var plain: Int
    var extra: [UInt8] = []
  }

  struct Entry {
    var local: Header
    var central: Header
    var data: [UInt8]
    var mode: Int
    /// The offset in the directory, or nil for the correct one.
    var offset: Int?
  }

  struct End {
    var count: Int?
    var length: Int?
    var offset: Int?
    var comment: [UInt8] = []
    /// The bytes between directory and end record.
    var before: [UInt8] = []
  }

  var entries: [Entry]
  var end = End()
  /// The bytes before each entry, by its number.
  var gaps: [Int: [UInt8]] = [:]

  init(_ entries: [RawEntry]) {
    self.entries = entries.map { entry in
      let data = entry.link.isEmpty ? entry.data : entry.link
      let header = Header(
        name: entry.path, checksum: crc32(data), packed: entry.size ?? data.count,
        plain: entry.size ?? data.count)
      return Entry(local: header, central: header, data: data, mode: entry.unixMode)
    }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    var directory: [UInt8] = []
    for (number, entry) in entries.enumerated() {
      bytes += gaps[number] ?? []
      let place = entry.offset ?? bytes.count
      bytes += [0x50, 0x4b, 3, 4] + Self.number(20, 2) + Self.fields(entry.local)
      bytes += entry.local.name + entry.local.extra + entry.data
      directory += [0x50, 0x4b, 1, 2] + Self.number(20, 1) + [3] + Self.number(20, 2)
      directory += Self.fields(entry.central) + Self.number(0, 2) + Self.number(0, 2)
      directory += Self.number(0, 2) + Self.number(entry.mode << 16, 4) + Self.number(place, 4)
      directory += entry.central.name + entry.central.extra
    }
    let start = bytes.count
    let count = Self.number(end.count ?? entries.count, 2)
    bytes += directory + end.before + [0x50, 0x4b, 5, 6] + Self.number(0, 4) + count + count
    bytes += Self.number(end.length ?? directory.count, 4) + Self.number(end.offset ?? start, 4)
    return bytes + Self.number(end.comment.count, 2) + end.comment
  }

  /// The common fields of both headers, from the flags to the lengths of name and extra field.
  private static func fields(_ header: Header) -> [UInt8] {
    number(header.flags, 2) + number(header.method, 2) + number(0, 4) + number(header.checksum, 4)
      + number(header.packed, 4) + number(header.plain, 4) + number(header.name.count, 2)
      + number(header.extra.count, 2)
  }

  static func number(_ value: Int, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  /// Creates a zip64 extra field with these lengths.
  static func large(_ values: Int...) -> [UInt8] {
    number(1, 2) + number(8 * values.count, 2) + values.flatMap { number($0, 8) }
  }
}

func crc32(_ bytes: [UInt8]) -> Int {
  var value: UInt32 = .max
  for byte in bytes {
    value ^= UInt32(byte)
    for _ in 0..<8 { value = value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
  }
  return Int(~value)
}

// MARK: xar

/// A writer for xars with a stored table without a digest, and configurable fields.
struct XarWriter {
  /// The elements of the files in the table.
  var files: String
  var heap: [UInt8]
  /// The text before the elements of the table.
  var prolog = "<?xml version=\"1.0\"?>"
  /// The length in the header, or nil for the correct one.
  var packedLength: Int?
  var plainLength: Int?

  init(_ entries: [RawEntry]) {
    var heap: [UInt8] = []
    files = entries.enumerated().map { number, entry in
      defer { heap += entry.data }
      return Self.file(entry, id: number + 1, offset: heap.count)
    }.joined()
    self.heap = heap
  }

  /// The element of a file.
  ///
  /// The target of a hard link is the identifier in its text.
  static func file(_ entry: RawEntry, id: Int, offset: Int, data: String? = nil) -> String {
    let kinds: [Character: String] = [
      "5": "directory", "2": "symlink", "3": "character special", "4": "block special",
      "6": "fifo", "s": "socket",
    ]
    let target = escaped(entry.link)
    let type =
      entry.type == UInt8(ascii: "1")
      ? "<type link=\"\(target)\">hardlink</type>"
      : "<type>\(kinds[Character(UnicodeScalar(entry.type))] ?? "file")</type>"
    let link = entry.type == UInt8(ascii: "2") ? "<link type=\"file\">\(target)</link>" : ""
    let size = entry.size ?? entry.data.count
    let body =
      data ?? (entry.data.isEmpty ? "" : Self.data(offset: offset, length: size, size: size))
    return """
      <file id="\(id)"><name>\(escaped(entry.path))</name>\(type)\(link)\
      <mode>\(String(entry.mode, radix: 8))</mode>\(body)</file>
      """
  }

  /// The element with the offset and lengths of the bytes.
  static func data(
    offset: Int, length: Int, size: Int, encoding: String = "application/octet-stream",
    more: String = ""
  ) -> String {
    """
    <data><offset>\(offset)</offset><length>\(length)</length><size>\(size)</size>\
    <encoding style="\(encoding)"/>\(more)</data>
    """
  }

  private static func escaped(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self).flatMap { character -> String in
      switch character {
      case "&": "&amp;"
      case "<": "&lt;"
      default: String(character)
      }
    }.reduce(into: "") { $0.append($1) }
  }

  var bytes: [UInt8] {
    let table = Array("\(prolog)<xar><toc>\(files)</toc></xar>".utf8)
    let packed = Self.zlib(table)
    return Array("xar!".utf8) + Self.number(28, 2) + Self.number(1, 2)
      + Self.number(packedLength ?? packed.count, 8) + Self.number(plainLength ?? table.count, 8)
      + Self.number(0, 4) + packed + heap
  }

  /// Stored blocks: RFC 1950 and 1951.
  static func zlib(_ bytes: [UInt8]) -> [UInt8] {
    var (low, high) = (1, 0)
    for byte in bytes {
      low = (low + Int(byte)) % 65521
      high = (high + low) % 65521
    }
    let step = 65_535
    let blocks = stride(from: 0, to: max(1, bytes.count), by: step).flatMap { start -> [UInt8] in
      let part = bytes[start..<min(start + step, bytes.count)]
      let length = Array(number(part.count, 2).reversed())
      return [start + step >= bytes.count ? 1 : 0] + length + length.map { ~$0 } + part
    }
    return [0x78, 0x01] + blocks + number(high << 16 | low, 4)
  }

  static func number(_ value: Int, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - $0))) }
  }
}
