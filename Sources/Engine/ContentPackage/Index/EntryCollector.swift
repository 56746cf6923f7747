import ContentModel
import Digests

/// Makes index entries of what a walk finds: paths, digests, and what ContentInfo.plist says.
struct EntryCollector: ~Copyable {
  /// Every entry so far, in the order of the archive.
  private(set) var entries: [IndexedFile] = []
  /// What ContentInfo.plist says; nil until a well-formed one was read.
  private(set) var info: ContentInfo?

  private let isContent: Bool
  private var digest = DigestStream()
  private var size: Int64 = 0
  private var propertyList: [UInt8] = []
  private var isPropertyList = false
  // By path, and only from the first hard link on, since few packages have any.
  private var positions: [String: Int]?

  init(isContent: Bool) { self.isContent = isContent }

  mutating func begin(_ entry: CheckedEntry) {
    size = 0
    isPropertyList = isContent && entry.path == ContentInfo.fileName
    propertyList = []
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer) throws {
    size += Int64(bytes.count)
    try digest.update(bytes)
    // One byte more than allowed is kept, so that a list that is too long is seen to be.
    if isPropertyList {
      propertyList += bytes.prefix(ContentInfo.maximumLength + 1 - propertyList.count)
    }
  }

  /// Takes the entry, and returns what it is; a bad ContentInfo.plist throws.
  mutating func end(_ entry: CheckedEntry) throws -> IndexedFile {
    let made = try indexed(entry)
    for folder in entry.impliedFolders { append(IndexedFile(path: folder, kind: .directory)) }
    if !entry.isKnownFolder { append(made) }
    if isPropertyList { info = try ContentInfo(propertyList: propertyList) }
    return made
  }

  private mutating func append(_ entry: IndexedFile) {
    positions?[entry.path] = entries.count
    entries.append(entry)
  }

  private mutating func indexed(_ entry: CheckedEntry) throws -> IndexedFile {
    switch entry.kind {
    case .file:
      return IndexedFile(path: entry.path, kind: .file, size: size, digest: try digest.finish())
    case .directory: return IndexedFile(path: entry.path, kind: .directory)
    case .link(let target): return IndexedFile(path: entry.path, kind: .link, target: target)
    case .hardLink(let components):
      let path = components.joined(separator: "/")
      guard let source = entryIndex(of: path).map({ entries[$0] }) else {
        throw Refusal.damaged("“\(path)”, to which “\(entry.path)” leads, was refused", path: path)
      }
      return IndexedFile(path: entry.path, kind: .file, size: source.size, digest: source.digest)
    }
  }

  /// Where the entry at `path` stands in `entries`.
  private mutating func entryIndex(of path: String) -> Int? {
    let known =
      positions
      ?? Dictionary(
        entries.indices.map { (entries[$0].path, $0) }, uniquingKeysWith: { first, _ in first })
    positions = known
    return known[path]
  }
}

extension IndexedFile {
  /// Orders by the bytes of the path.
  static func isOrdered(_ left: IndexedFile, _ right: IndexedFile) -> Bool {
    left.path.precedesByBytes(right.path)
  }
}
