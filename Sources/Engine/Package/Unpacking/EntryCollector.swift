import HostedModel
import HostedDigests

/// Creates index entries during a walk: paths, digests and the values of ContentInfo.plist.
struct EntryCollector: ~Copyable {
  /// All entries so far, in the order of the archive.
  private(set) var entries: [IndexedFile] = []
  /// The values of ContentInfo.plist, or nil until a well-formed list was read.
  private(set) var info: ContentInfo?

  private var digest = DigestStream()
  private var size: Int64 = 0
  /// The bytes of ContentInfo.plist, or nil during other entries.
  private var propertyList: [UInt8]?
  // By path. Created at the first hard link, since few packages have one.
  private var positions: [String: Int]?

  mutating func begin(_ entry: CheckedEntry, readsInfo: Bool) {
    size = 0
    propertyList = readsInfo && entry.path == ContentInfo.fileName ? [] : nil
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer) throws {
    size += Int64(bytes.count)
    try digest.update(bytes)
    // One byte more than the limit is kept, to detect a list that is too long.
    let room = ContentInfo.maximumLength + 1 - (propertyList?.count ?? 0)
    propertyList?.append(contentsOf: bytes.prefix(room))
  }

  /// Adds and returns the entry.
  mutating func end(_ entry: CheckedEntry) throws -> IndexedFile {
    let made = try indexed(entry)
    for folder in entry.impliedFolders { append(IndexedFile(path: folder, kind: .directory)) }
    if !entry.isKnownFolder { append(made) }
    return made
  }

  /// Reads `info` if the entry that has ended is ContentInfo.plist; throws if it is invalid.
  mutating func readInfo() throws {
    if let propertyList { info = try ContentInfo(propertyList: propertyList) }
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
    case .hardLink(let path):
      guard let source = entryIndex(of: path).map({ entries[$0] }) else {
        throw Finding.damaged(
          "“\(path)”, the target of the hard link “\(entry.path)”, was refused", path: path)
      }
      return IndexedFile(path: entry.path, kind: .file, size: source.size, digest: source.digest)
    }
  }

  /// Returns the position of the entry at `path` in `entries`.
  private mutating func entryIndex(of path: String) -> Int? {
    let known =
      positions
      ?? Dictionary(
        entries.indices.map { (entries[$0].path, $0) }, uniquingKeysWith: { first, _ in first })
    positions = known
    return known[path]
  }
}
