import ContentModel
import Digests

/// Picks names, checksums and places out of a xar table's XML; a scanner for that grammar, no XML parser.
///
/// It knows elements, text and the five named entities. libarchive reads the same table with a whole
/// XML parser and believes what it finds there; so what the two could take for different things is
/// refused, and so is what libarchive 3.6.2 takes without a look: numbers that are none, an element
/// that is there twice (a second type of a hard link makes it go round in circles), a link to no file.
struct XarTableReader {
  private(set) var files: [XarTable.File] = []

  private static let depthLimit = 256
  private static let fileLimit = 200_000

  private struct Node {
    let parent: Int?
    var name: String?
    var checksum: FileChecksum.Expected?
    var offset: Int64?
    var length: Int64?
    var size: Int64?
    var isStored = false
    var identifier: String?
    /// The identifier of the file that this one is another name of.
    var original: String?
    /// The elements that were there.
    var elements: Set<String> = []

    /// Where its bytes lie behind the table; nil when they are encoded or not said.
    var storedRange: Range<Int64>? {
      guard isStored, let offset, let length, length == size else { return nil }
      let (end, overflow) = offset.addingReportingOverflow(length)
      return overflow ? nil : offset..<end
    }
  }

  private var nodes: [Node] = []
  private var elements: [String] = []
  private var openFiles: [Int] = []
  private var text: [UInt8] = []
  private var style: String?

  /// Reads the whole document.
  mutating func read(_ xml: [UInt8]) throws {
    var rest = xml[...]
    while let opening = rest.firstIndex(of: UInt8(ascii: "<")) {
      text += rest[..<opening]
      rest = rest[opening...]
      if rest.starts(with: Array("<!--".utf8)) {
        rest = rest.behind("-->")
        continue
      }
      guard let closing = rest.firstIndex(of: UInt8(ascii: ">")) else { break }
      try handle(tag: rest[(opening + 1)..<closing])
      rest = rest[(closing + 1)...]
    }
    try checkLinks()
    files = nodes.indices.map {
      XarTable.File(
        components: path(of: $0), checksum: nodes[$0].checksum, storedRange: nodes[$0].storedRange)
    }
  }

  private mutating func handle(tag: ArraySlice<UInt8>) throws {
    switch tag.first {
    case UInt8(ascii: "?"): break
    case UInt8(ascii: "!"): throw Self.refused("declares a document type or has raw text")
    case UInt8(ascii: "/"): try close()
    default:
      guard Self.isPlain(tag) else { throw Self.refused("has a tag that reads in two ways") }
      let isEmpty = tag.last == UInt8(ascii: "/")
      let words = (isEmpty ? tag.dropLast() : tag).split {
        $0 == 32 || $0 == 9 || $0 == 10 || $0 == 13
      }
      guard let name = words.first else { break }
      try open(String(decoding: name, as: UTF8.self), attributes: words.dropFirst())
      if isEmpty { try close() }
    }
    text.removeAll(keepingCapacity: true)
  }

  private mutating func open(_ name: String, attributes: ArraySlice<ArraySlice<UInt8>>) throws {
    guard elements.count < Self.depthLimit, nodes.count < Self.fileLimit else {
      throw Refusal.limit(
        "limit-table", "The xar table of contents is nested too deeply or too long")
    }
    style = Self.value("style", attributes)?.lowercased()
    if name == "file" {
      var node = Node(parent: openFiles.last, name: nil, checksum: nil)
      node.identifier = Self.value("id", attributes)
      nodes.append(node)
      openFiles.append(nodes.count - 1)
    } else if let file = openFiles.last {
      try note(name, attributes, of: file)
    }
    elements.append(name)
  }

  /// Takes note of an element of a file, which may be there once.
  private mutating func note(
    _ name: String, _ attributes: ArraySlice<ArraySlice<UInt8>>, of file: Int
  ) throws {
    let isOfFile = elements.last == "file"
    guard isOfFile || elements.suffix(2) == ["file", "data"] else { return }
    if isOfFile, name == "type", let link = Self.value("link", attributes), link != "original" {
      nodes[file].original = link
    }
    guard Self.single.contains(name) else { return }
    guard nodes[file].elements.insert(isOfFile ? name : "data/\(name)").inserted else {
      throw Self.refused("says the \(name) of a file twice")
    }
  }

  private static let single: Set<String> = [
    "name", "type", "link", "mode", "data", "offset", "length", "size", "encoding",
    "extracted-checksum",
  ]

  /// Every other name of a file must be one of a file that there is, and that there is once.
  private func checkLinks() throws {
    let identifiers = nodes.compactMap(\.identifier)
    let known = Set(identifiers)
    guard known.count == identifiers.count else {
      throw Self.refused("gives two files one identifier")
    }
    guard nodes.allSatisfy({ $0.original.map(known.contains) ?? true }) else {
      throw Self.refused("has another name of a file that is not there")
    }
  }

  /// Whether every parser finds the end of the tag and the name in it at the same place.
  private static func isPlain(_ tag: ArraySlice<UInt8>) -> Bool {
    let name = tag.prefix { $0 != 32 && $0 != 9 && $0 != 10 && $0 != 13 }
    return !name.contains(UInt8(ascii: ":")) && !tag.contains(UInt8(ascii: "<"))
      && tag.count { $0 == UInt8(ascii: "\"") }.isMultiple(of: 2)
      && tag.count { $0 == UInt8(ascii: "'") }.isMultiple(of: 2)
  }

  /// The value of an attribute; nil when it is not there.
  private static func value(_ name: String, _ attributes: ArraySlice<ArraySlice<UInt8>>) -> String?
  {
    attributes.lazy.map { String(decoding: $0, as: UTF8.self) }
      .first { $0.hasPrefix("\(name)=") }
      .map { $0.dropFirst(name.count + 1).filter { $0 != "\"" && $0 != "'" } }
  }

  private static func refused(_ what: String) -> Refusal {
    .damaged("The xar table of contents \(what)")
  }

  private mutating func close() throws {
    guard let name = elements.popLast() else { return }
    if name == "file" {
      openFiles.removeLast()
    } else if let file = openFiles.last {
      if name == "name", elements.last == "file" { nodes[file].name = Self.unescaped(text) }
      // An extended attribute has the same elements below <ea>.
      if elements.suffix(2) == ["file", "data"] { try takeData(name, of: file) }
    }
  }

  private mutating func takeData(_ name: String, of file: Int) throws {
    switch name {
    case "extracted-checksum": nodes[file].checksum = Self.checksum(style: style, text)
    case "encoding":
      guard let style, Self.encodings.contains(style) else {
        throw Self.refused("names an encoding that is not known")
      }
      nodes[file].isStored = style == "application/octet-stream"
    case "offset": nodes[file].offset = try Self.number(text)
    case "length": nodes[file].length = try Self.number(text)
    case "size": nodes[file].size = try Self.number(text)
    default: break
    }
  }

  private static let encodings: Set<String> = [
    "application/octet-stream", "application/x-gzip", "application/x-bzip2", "application/x-lzma",
    "application/x-xz",
  ]

  /// A decimal number of at most 18 digits; a refusal for anything else.
  private static func number(_ text: [UInt8]) throws -> Int64 {
    guard (1...18).contains(text.count), text.allSatisfy({ (48...57).contains($0) }) else {
      throw refused("has a number that is none")
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

  private static func unescaped(_ text: [UInt8]) -> String {
    let string = String(decoding: text, as: UTF8.self)
    guard string.utf8.contains(UInt8(ascii: "&")) else { return string }
    let named = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    var result = ""
    for (index, part) in string.split(separator: "&", omittingEmptySubsequences: false).enumerated()
    {
      guard index > 0, let end = part.firstIndex(of: ";"), let value = named[String(part[..<end])]
      else {
        result += part
        continue
      }
      result += value + part[part.index(after: end)...]
    }
    return result
  }

  private func path(of index: Int) -> [String] {
    var components: [String] = []
    var next: Int? = index
    while let node = next {
      components.append(nodes[node].name ?? "")
      next = nodes[node].parent
    }
    return components.reversed()
  }
}
