import ContentModel
import Digests

/// Picks names, checksums and places out of a xar table's XML; a scanner for that grammar, no XML parser.
///
/// It knows elements, text and the five named entities. What it does not know is passed over: the
/// worst that follows is a checksum that is not compared.
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
    files = nodes.indices.map {
      XarTable.File(
        components: path(of: $0), checksum: nodes[$0].checksum, storedRange: nodes[$0].storedRange)
    }
  }

  private mutating func handle(tag: ArraySlice<UInt8>) throws {
    switch tag.first {
    case UInt8(ascii: "?"), UInt8(ascii: "!"): break
    case UInt8(ascii: "/"): close()
    default:
      let isEmpty = tag.last == UInt8(ascii: "/")
      let words = (isEmpty ? tag.dropLast() : tag).split {
        $0 == 32 || $0 == 9 || $0 == 10 || $0 == 13
      }
      guard let name = words.first else { break }
      try open(String(decoding: name, as: UTF8.self), attributes: words.dropFirst())
      if isEmpty { close() }
    }
    text.removeAll(keepingCapacity: true)
  }

  private mutating func open(_ name: String, attributes: ArraySlice<ArraySlice<UInt8>>) throws {
    guard elements.count < Self.depthLimit, nodes.count < Self.fileLimit else {
      throw Refusal.limit(
        "limit-table", "The xar table of contents is nested too deeply or too long")
    }
    if name == "file" {
      nodes.append(Node(parent: openFiles.last, name: nil, checksum: nil))
      openFiles.append(nodes.count - 1)
    }
    style = attributes.lazy.map { String(decoding: $0, as: UTF8.self) }
      .first { $0.hasPrefix("style=") }
      .map { String($0.dropFirst(6).filter { $0 != "\"" && $0 != "'" }).lowercased() }
    elements.append(name)
  }

  private mutating func close() {
    guard let name = elements.popLast() else { return }
    if name == "file" {
      openFiles.removeLast()
    } else if let file = openFiles.last {
      if name == "name", elements.last == "file" { nodes[file].name = Self.unescaped(text) }
      // An extended attribute has the same elements below <ea>.
      if elements.suffix(2) == ["file", "data"] { takeData(name, of: file) }
    }
  }

  private mutating func takeData(_ name: String, of file: Int) {
    switch name {
    case "extracted-checksum": nodes[file].checksum = Self.checksum(style: style, text)
    case "encoding": nodes[file].isStored = style == "application/octet-stream"
    case "offset": nodes[file].offset = Self.number(text)
    case "length": nodes[file].length = Self.number(text)
    case "size": nodes[file].size = Self.number(text)
    default: break
    }
  }

  /// A decimal number of at most 18 digits; nil for anything else.
  private static func number(_ text: [UInt8]) -> Int64? {
    guard (1...18).contains(text.count), text.allSatisfy({ (48...57).contains($0) }) else {
      return nil
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
