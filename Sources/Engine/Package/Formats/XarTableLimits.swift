import HostedModel

/// Limits on the content of a xar's table, enforced while it is read.
///
/// libarchive reads the whole table before the first entry. It keeps about 500 bytes per file, the
/// whole path of each file, and texts such as owners. Its XML parser keeps all element names.
struct XarTableLimits {
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
