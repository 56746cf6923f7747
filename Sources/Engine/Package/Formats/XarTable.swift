import FoundationEssentials
import HostedDigests
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
      try ScannedStream(SourceStream(source, range), format).skipRest()
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

/// Reads names, checksums and ranges from a xar table, without a full XML parser.
///
/// It supports elements, plain attributes, text, the five predefined entities and character
/// references. libarchive reads the same table with a full XML parser and trusts it. Therefore,
/// everything that the two could read differently is rejected. So is input that libarchive 3.6.2
/// does not check: invalid numbers, duplicate elements (a second type of a hard link causes an
/// endless loop), and links to unknown files. A table can compress 1000:1, so `XarTableLimits`
/// limits the memory that libarchive needs.
private struct XarTableReader {
  private struct Node {
    let parent: Int?
    var pathLength = 0
    var name: String?
    var data = StoredData()
    var attributes: [StoredData] = []
    var identifier: Int64?
    /// The identifier of the file that this hard link refers to.
    var original: Int64?
    /// A bit for each element that was read: bits of the file, and from 16 on bits of its data.
    var elements: UInt32 = 0
  }

  /// The place and encoding of the bytes of a file or an extended attribute.
  private struct StoredData {
    var checksum: FileChecksum.Expected?
    // libarchive also uses 0 for a missing offset or length.
    var offset: Int64 = 0
    var length: Int64 = 0
    var size: Int64?
    var encoding: Encoding?

    /// The range of the bytes in the heap; numbers of 18 digits do not overflow.
    var range: Range<Int64> { offset..<(offset + length) }

    /// The range of uncompressed bytes, or nil if they are encoded.
    var storedRange: Range<Int64>? { encoding == .stored && length == size ? range : nil }

    mutating func take(_ element: Element, style: String?, _ text: [UInt8]) throws {
      switch element {
      case .checksum: checksum = XarTableReader.checksum(style: style, text)
      case .encoding:
        guard let encoding = style.flatMap(Encoding.init(rawValue:)) else {
          throw XarTableReader.refused("has an unknown encoding")
        }
        self.encoding = encoding
      case .offset: offset = try XarTableReader.number(text)
      case .length: length = try XarTableReader.number(text)
      case .size: size = try XarTableReader.number(text)
      default: break
      }
    }
  }

  private enum Encoding: String {
    case stored = "application/octet-stream"
    case gzip = "application/x-gzip"
    case bzip2 = "application/x-bzip2"
    case lzma = "application/x-lzma"
    case xz = "application/x-xz"

    var windowFormat: WindowScanner.Format? {
      switch self {
      case .lzma: .lzma
      case .xz: .xz
      case .stored, .gzip, .bzip2: nil
      }
    }
  }

  private enum Element: UInt32 {
    // Elements that a file may have only once come first, since each has a bit.
    case name, type, link, mode, data, offset, length, size, encoding, checksum
    case file, user, group, attribute, flags, other

    var isSingle: Bool { rawValue <= Self.checksum.rawValue }

    /// Whether it holds one value, and so has no elements.
    var isValue: Bool { isSingle && self != .data }

    static let named: [String: Element] = [
      "name": .name, "type": .type, "link": .link, "mode": .mode, "data": .data,
      "offset": .offset, "length": .length, "size": .size, "encoding": .encoding,
      "extracted-checksum": .checksum, "file": .file, "user": .user, "group": .group,
      "ea": .attribute, "flags": .flags, "ext2": .flags,
    ]
  }

  private var nodes: [Node] = []
  private var elements: [Element] = []
  private var openFiles: [Int] = []
  private var text: [UInt8] = []
  private var style: String?
  private var isBase64 = false
  private var limits = XarTableLimits()

  var files: [XarTable.File] {
    nodes.indices.map {
      XarTable.File(
        path: path(of: $0), checksum: nodes[$0].data.checksum,
        storedRange: nodes[$0].data.storedRange)
    }
  }

  /// The data of all files and extended attributes.
  private var data: [StoredData] { nodes.map(\.data) + nodes.flatMap(\.attributes) }

  var lengths: [Int64] { data.map(\.length) }

  /// The ranges in the heap of those whose format declares a window.
  var windows: [(format: WindowScanner.Format, range: Range<Int64>)] {
    data.compactMap { data in data.encoding?.windowFormat.map { ($0, data.range) } }
  }

  mutating func read(_ xml: [UInt8]) throws {
    try Self.checkEncoding(xml)
    var rest = xml[...]
    while let opening = rest.firstIndex(of: UInt8(ascii: "<")) {
      text += rest[..<opening]
      rest = rest[(opening + 1)...]
      try limits.check(textLength: text.count)
      if isInValue, rest.first != UInt8(ascii: "/") {
        // libarchive prefixes each part of a name with the path of the folder, and uses the last
        // part of a number.
        throw Self.refused("has a value that contains an element or a comment")
      }
      if rest.starts(with: "!--".utf8) {
        // After its start: the text “<!-->” does not end a comment.
        let comment = rest.dropFirst(3)
        let following = comment.bytes(after: "-->")
        try limits.check(textLength: comment.count - following.count)
        rest = following
        continue
      }
      guard let closing = try limits.tagEnd(rest) else { break }
      try handle(tag: rest[..<closing])
      rest = rest[(closing + 1)...]
    }
    try checkLinks()
  }

  /// Throws if libarchive's parser could detect an encoding other than UTF-8.
  private static func checkEncoding(_ xml: [UInt8]) throws {
    let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
    let text = xml.starts(with: byteOrderMark) ? xml[3...] : xml[...]
    guard text.first == UInt8(ascii: "<"), !text.contains(0) else {
      throw refused("is not XML in UTF-8")
    }
  }

  private var isInValue: Bool { !openFiles.isEmpty && elements.last?.isValue == true }

  private mutating func handle(tag: ArraySlice<UInt8>) throws {
    switch tag.first {
    case UInt8(ascii: "?"): try Self.checkInstruction(tag)
    case UInt8(ascii: "!"): throw Self.refused("has a document type or CDATA")
    case UInt8(ascii: "/"): try close()
    default:
      let isEmpty = tag.last == UInt8(ascii: "/")
      let words = (isEmpty ? tag.dropLast() : tag).split {
        $0 == 32 || $0 == 9 || $0 == 10 || $0 == 13
      }
      let attributes = words.dropFirst().compactMap { XarMarkup.Attribute($0) }
      guard let name = words.first, !name.contains(UInt8(ascii: ":")),
        !tag.contains(UInt8(ascii: "<")), attributes.count == words.count - 1
      else { throw Self.refused("has an ambiguous tag") }
      try open(String(decoding: name, as: UTF8.self), attributes)
      if isEmpty { try close() }
    }
    text.removeAll(keepingCapacity: true)
  }

  private static func checkInstruction(_ tag: ArraySlice<UInt8>) throws {
    let text = String(decoding: tag, as: UTF8.self).lowercased()
    guard tag.count > 1, text.hasSuffix("?") else { throw refused("has an ambiguous tag") }
    guard text.hasPrefix("?xml"), text.contains("encoding") else { return }
    let value = Array(text.utf8)[...].bytes(after: "encoding").filter { $0 != 32 && $0 != 9 }
    guard value.starts(with: "=\"utf-8\"".utf8) || value.starts(with: "='utf-8'".utf8) else {
      throw refused("is not XML in UTF-8")
    }
  }

  private mutating func open(_ name: String, _ attributes: [XarMarkup.Attribute]) throws {
    let element = Element.named[name] ?? .other
    try limits.open(depth: elements.count, words: attributes.count)
    if element == .other { try limits.note(name: name) }
    for attribute in attributes { try limits.note(name: attribute.name) }
    style = Self.value("style", attributes)?.lowercased()
    isBase64 = Self.value("enctype", attributes) == "base64"
    if element == .file {
      try openFile(identifier: Self.value("id", attributes))
    } else if let file = openFiles.last {
      try note(element, name, attributes, of: file)
    }
    elements.append(element)
  }

  private mutating func openFile(identifier: String?) throws {
    try limits.addEntry(depth: openFiles.count)
    let folder = openFiles.last
    if let folder, nodes[folder].name == nil {
      // libarchive would put the file into the root folder.
      throw Self.refused("has a file before the name of its folder")
    }
    var node = Node(parent: folder)
    node.identifier = try identifier.map { try Self.number(Array($0.utf8)) }
    nodes.append(node)
    openFiles.append(nodes.count - 1)
  }

  /// Records an element of a file; throws if it is a duplicate.
  private mutating func note(
    _ element: Element, _ name: String, _ attributes: [XarMarkup.Attribute], of file: Int
  ) throws {
    if elements.last == .flags { try limits.keep(XarTableLimits.flagLength) }
    let isOfFile = elements.last == .file
    guard isOfFile || elements.suffix(2) == [.file, .data] else { return }
    if isOfFile, element == .attribute {
      nodes[file].attributes.append(StoredData())
      try limits.addAttribute(nodes[file].attributes.count)
    }
    if isOfFile, element == .type, let link = Self.value("link", attributes), link != "original" {
      nodes[file].original = try Self.number(Array(link.utf8))
    }
    guard element.isSingle else { return }
    let bit: UInt32 = 1 << (element.rawValue + (isOfFile ? 0 : 16))
    guard nodes[file].elements & bit == 0 else {
      throw Self.refused("has a file with two elements \(name)")
    }
    nodes[file].elements |= bit
  }

  /// Throws unless identifiers are unique and each hard link refers to one of them.
  private func checkLinks() throws {
    let identifiers = nodes.compactMap(\.identifier)
    let known = Set(identifiers)
    guard known.count == identifiers.count else {
      throw Self.refused("has two files with the same identifier")
    }
    guard nodes.allSatisfy({ $0.original.map(known.contains) ?? true }) else {
      throw Self.refused("has a hard link to an unknown file")
    }
  }

  private static func value(_ name: String, _ attributes: [XarMarkup.Attribute]) -> String? {
    attributes.first { $0.name == name }?.value
  }

  static func refused(_ what: String) -> Finding { .damaged("The xar table of contents \(what)") }

  private mutating func close() throws {
    guard let element = elements.popLast() else { return }
    if element == .file {
      openFiles.removeLast()
    } else if let file = openFiles.last {
      switch (elements.last, element) {
      case (.file, .name): try takeName(of: file)
      case (.file, .link), (.file, .user), (.file, .group), (.attribute, _):
        try limits.keep(text.count)
      default: break
      }
      if elements.suffix(2) == [.file, .data] {
        try nodes[file].data.take(element, style: style, text)
      } else if elements.suffix(2) == [.file, .attribute] {
        let last = nodes[file].attributes.count - 1
        try nodes[file].attributes[last].take(element, style: style, text)
        // libarchive reads all bytes of an attribute into memory.
        if element == .size { try limits.keep(Int(Self.number(text))) }
      }
    }
  }

  private mutating func takeName(of file: Int) throws {
    let name =
      isBase64
      ? Data(base64Encoded: Data(text)).map { String(decoding: $0, as: UTF8.self) }
      : XarMarkup.unescaped(text)
    guard let name else { throw Self.refused("has a name with invalid base64 or entities") }
    nodes[file].name = name
    let above = nodes[file].parent.map { nodes[$0].pathLength + 1 } ?? 0
    nodes[file].pathLength = above + name.utf8.count
    try limits.keep(name: name, pathLength: nodes[file].pathLength)
  }

  /// Parses a decimal number of at most 18 digits; throws a finding for anything else.
  private static func number(_ text: [UInt8]) throws -> Int64 {
    guard (1...18).contains(text.count), text.allSatisfy({ (48...57).contains($0) }) else {
      throw refused("has an invalid number")
    }
    return text.reduce(0) { $0 * 10 + Int64($1 - 48) }
  }

  private static func checksum(style: String?, _ text: [UInt8]) -> FileChecksum.Expected? {
    let digits = String(decoding: text, as: UTF8.self)
    guard let bytes = Hexadecimal.bytes(of: digits) else { return nil }
    switch (style, bytes.count) {
    case ("sha1", 20): return FileChecksum.Expected(algorithm: .sha1, bytes: bytes)
    case ("sha256", 32): return FileChecksum.Expected(algorithm: .sha256, bytes: bytes)
    default: return nil
    }
  }

  private func path(of index: Int) -> String {
    var components: [String] = []
    var next: Int? = index
    while let node = next {
      components.append(nodes[node].name ?? "")
      next = nodes[node].parent
    }
    return components.reversed().joined(separator: "/")
  }
}

/// Limits on the content of a xar's table, enforced while it is read.
///
/// libarchive reads the whole table before the first entry. It keeps about 500 bytes per file, the
/// whole path of each file, and texts such as owners. Its XML parser keeps all element names.
private struct XarTableLimits {
  /// Files, folders, links and extended attributes; a real table of 32 MiB has hardly more.
  static let entryCount = 40_000
  /// Elements; a file has about twenty.
  static let elementCount = 2 << 20
  /// Extended attributes per file, which libarchive sorts in quadratic time.
  static let attributeCount = 256
  /// Levels of nested folders; the rules of paths allow fewer.
  static let depth = 64
  /// Levels of nested elements.
  static let elementDepth = 128
  /// Total bytes of paths, targets, owners, and names and values of attributes.
  static let textTotal = 8 << 20
  /// Bytes of one text or comment.
  static let textLength = 1 << 20
  /// Bytes and words of one tag; the parser compares each attribute with all others.
  static let tagLength = 4096
  static let wordCount = 64
  /// Distinct names of unknown elements and of attributes.
  static let nameCount = 1024
  /// The bytes that libarchive keeps per flag.
  static let flagLength = 16

  private var entries = 0
  private var elements = 0
  private var kept = 0
  private var names: Set<String> = []

  /// Counts a file that is inside `depth` folders.
  mutating func addEntry(depth: Int) throws {
    try Self.check(
      depth < Self.depth, "limit-depth", "nests folders more than \(Self.depth) deep")
    try addEntry()
  }

  private mutating func addEntry() throws {
    entries += 1
    try Self.check(
      entries <= Self.entryCount, "limit-entries", "has more than \(Self.entryCount) entries")
  }

  /// Counts an extended attribute, which is number `number` of its file.
  mutating func addAttribute(_ number: Int) throws {
    try Self.check(
      number <= Self.attributeCount, "limit-table",
      "has a file with more than \(Self.attributeCount) attributes")
    try addEntry()
  }

  /// Counts the path of a file; `name` is its last component.
  mutating func keep(name: String, pathLength: Int) throws {
    let longest = name.utf8.split(separator: UInt8(ascii: "/")).lazy.map(\.count).max() ?? 0
    guard longest <= PackageLimits.standard.componentLength else {
      throw Self.tooLong(name, "has a component of \(longest) bytes")
    }
    guard pathLength <= PackageLimits.headerPathLength else {
      throw Self.tooLong(name, "has \(pathLength) bytes including its folders")
    }
    try keep(pathLength)
  }

  /// Counts `length` bytes that libarchive keeps.
  mutating func keep(_ length: Int) throws {
    kept += length
    try Self.check(
      kept <= Self.textTotal, "limit-paths",
      "has more than \(Self.textTotal >> 20) MiB of paths, attributes and other texts")
  }

  /// Checks a start tag that is nested in `depth` elements and has `words` after its name.
  mutating func open(depth: Int, words: Int) throws {
    elements += 1
    try Self.check(
      depth < Self.elementDepth && words <= Self.wordCount && elements <= Self.elementCount,
      "limit-table", "has too many elements, attributes or levels")
  }

  /// Counts the name of an unknown element or of an attribute.
  mutating func note(name: String) throws {
    names.insert(name)
    try Self.check(
      names.count <= Self.nameCount, "limit-table",
      "has more than \(Self.nameCount) kinds of elements")
  }

  func check(textLength: Int) throws {
    try Self.check(
      textLength <= Self.textLength, "limit-table",
      "has a text of more than \(Self.textLength) bytes")
  }

  /// Returns the index of the end of the tag at the start of `rest`, or nil if it does not end.
  func tagEnd(_ rest: ArraySlice<UInt8>) throws -> Int? {
    if let end = rest.prefix(Self.tagLength).firstIndex(of: UInt8(ascii: ">")) { return end }
    try Self.check(
      rest.count < Self.tagLength, "limit-table", "has a tag of more than \(Self.tagLength) bytes")
    return nil
  }

  private static func tooLong(_ name: String, _ what: String) -> Finding {
    let shown = PathRules.shown(Array(name.utf8))
    return .entry("path-length", "The path “\(shown)” \(what)", path: shown)
  }

  private static func check(
    _ isAllowed: Bool, _ rule: String, _ what: @autoclosure () -> String
  ) throws {
    guard isAllowed else { throw Finding.limit(rule, "The xar table of contents \(what())") }
  }
}

/// The attributes and entities of a xar table, which is XML.
private enum XarMarkup {
  struct Attribute {
    let name: String
    let value: String

    /// Parses `name="value"`; nil for all other spellings, such as with blanks or entities.
    ///
    /// A name with a prefix is one of them, because libarchive ignores the prefix.
    init?(_ word: ArraySlice<UInt8>) {
      guard let sign = word.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      let (name, quoted) = (word[..<sign], word[(sign + 1)...])
      guard let quote = quoted.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
        quoted.count > 1, quoted.last == quote, !name.contains(UInt8(ascii: ":"))
      else { return nil }
      let value = quoted.dropFirst().dropLast()
      guard !value.contains(quote), !value.contains(UInt8(ascii: "&")) else { return nil }
      self.name = String(decoding: name, as: UTF8.self)
      self.value = String(decoding: value, as: UTF8.self)
    }
  }

  /// Returns `text` with the characters that its entities mean, or nil if one is unknown.
  static func unescaped(_ text: [UInt8]) -> String? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: UInt8(ascii: "&")) {
      guard let end = rest[start...].firstIndex(of: UInt8(ascii: ";")),
        let character = character(String(decoding: rest[(start + 1)..<end], as: UTF8.self))
      else { return nil }
      bytes += rest[..<start]
      bytes += character.utf8
      rest = rest[(end + 1)...]
    }
    return String(decoding: bytes + rest, as: UTF8.self)
  }

  /// Returns the character that a predefined entity or a character reference means.
  private static func character(_ entity: String) -> String? {
    let named = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    guard entity.hasPrefix("#") else { return named[entity] }
    let number =
      entity.hasPrefix("#x")
      ? UInt32(entity.dropFirst(2), radix: 16) : UInt32(entity.dropFirst())
    return number.flatMap { Unicode.Scalar($0) }.map { String(Character($0)) }
  }
}
