import ContentModel

/// What a xar's table may hold, counted while it is read.
///
/// libarchive reads the whole table before its first entry: it keeps a record of about 500 bytes
/// for each file, the whole path of each, and texts such as owners. Its XML parser keeps every name
/// of an element.
struct XarTableLimits {
  /// Files, folders, links and extended attributes; real tables of 32 MiB have hardly more.
  static let entryCount = 40_000
  /// Elements; a file has about twenty.
  static let elementCount = 2 << 20
  /// Extended attributes of one file, which libarchive sorts by going through all of them.
  static let attributeCount = 256
  /// Folders in each other; the rules of paths allow less.
  static let depth = 64
  /// Elements in each other.
  static let elementDepth = 128
  /// Bytes of paths, targets, owners and names of attributes together.
  static let textTotal = 8 << 20
  /// Bytes of one text, or of a comment.
  static let textLength = 1 << 20
  /// Bytes of one tag, and words in it: its parser compares each attribute with all others.
  static let tagLength = 4096
  static let wordCount = 64
  /// Different names of elements and attributes that mean nothing here.
  static let nameCount = 1024
  /// What libarchive keeps of a flag's element.
  static let flagLength = 16

  private var entries = 0
  private var elements = 0
  private var kept = 0
  private var names: Set<String> = []

  /// Counts a file in `depth` folders.
  mutating func addEntry(depth: Int) throws {
    guard depth < Self.depth else {
      throw Self.exceeded("limit-depth", "nests folders more than \(Self.depth) deep")
    }
    try addEntry()
  }

  private mutating func addEntry() throws {
    entries += 1
    guard entries <= Self.entryCount else {
      throw Self.exceeded("limit-entries", "has more than \(Self.entryCount) entries")
    }
  }

  /// Counts an extended attribute, the `number`th of its file.
  mutating func addAttribute(_ number: Int) throws {
    guard number <= Self.attributeCount else {
      throw Self.exceeded(
        "limit-table", "has more than \(Self.attributeCount) attributes of a file")
    }
    try addEntry()
  }

  /// Counts the path of a file, whose last part is `name`.
  mutating func keep(name: String, pathLength: Int) throws {
    let longest = name.utf8.split(separator: UInt8(ascii: "/")).lazy.map(\.count).max() ?? 0
    guard longest <= PackageLimits.standard.componentLength else {
      throw Self.tooLong(name, "has a component of \(longest) bytes")
    }
    guard pathLength <= PackageLimits.headerPathLength else {
      throw Self.tooLong(name, "has \(pathLength) bytes with its folders")
    }
    try keep(pathLength)
  }

  /// Counts `length` bytes that libarchive keeps.
  mutating func keep(_ length: Int) throws {
    kept += length
    guard kept <= Self.textTotal else {
      throw Self.exceeded(
        "limit-paths", "has more than \(Self.textTotal >> 20) MiB of paths and other texts")
    }
  }

  /// Checks a tag that opens an element in `depth` others and has `words` behind its name.
  mutating func open(depth: Int, words: Int) throws {
    elements += 1
    guard depth < Self.elementDepth, words <= Self.wordCount, elements <= Self.elementCount else {
      throw Self.exceeded("limit-table", "is nested too deeply or too long")
    }
  }

  /// Counts the name of an element that means nothing here.
  mutating func note(name: String) throws {
    guard names.count < Self.nameCount || names.contains(name) else {
      throw Self.exceeded("limit-table", "has more than \(Self.nameCount) kinds of elements")
    }
    names.insert(name)
  }

  /// Counts the name of an attribute.
  mutating func note(attribute: ArraySlice<UInt8>) throws {
    try note(name: String(decoding: attribute.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self))
  }

  func check(textLength: Int) throws {
    guard textLength <= Self.textLength else {
      throw Self.exceeded("limit-table", "has a text of more than \(Self.textLength) bytes")
    }
  }

  /// Where the tag ends that `rest` begins with; nil when it does not.
  func tagEnd(_ rest: ArraySlice<UInt8>) throws -> Int? {
    if let end = rest.prefix(Self.tagLength).firstIndex(of: UInt8(ascii: ">")) { return end }
    guard rest.count < Self.tagLength else {
      throw Self.exceeded("limit-table", "has a tag of more than \(Self.tagLength) bytes")
    }
    return nil
  }

  private static func tooLong(_ name: String, _ what: String) -> Refusal {
    let shown = PathRules.shown(Array(name.utf8))
    return Refusal(PathRules.finding("path-length", "The path “\(shown)” \(what)", path: shown))
  }

  private static func exceeded(_ rule: String, _ what: String) -> Refusal {
    .limit(rule, "The xar table of contents \(what)")
  }
}
