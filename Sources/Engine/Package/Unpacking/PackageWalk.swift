import HostedDigests
import HostedModel

/// Reads a package once from start to end, and applies all rules.
final class PackageWalk {
  /// Receives a broken rule; throws to stop.
  typealias Refuse = (Finding) throws -> Void

  private let reader: PackageReader
  private let isContent: Bool
  private let readsInfo: Bool
  private let plainLimit: Int64
  private var rules: EntryRules
  private var collector = EntryCollector()
  private var plainTotal: Int64 = 0

  var format: PackageFormat { reader.format }

  /// The values of ContentInfo.plist, or nil until a well-formed list was read.
  var info: ContentInfo? { collector.info }

  /// All entries so far that keep the rules, sorted by the bytes of their paths.
  var entries: [IndexedFile] { collector.entries.sorted { $0.path.precedesByBytes($1.path) } }

  /// Opens the package; throws a finding if it cannot be read at all.
  ///
  /// With `readsInfo`, ContentInfo.plist must exist and be valid. `members` takes the members of a
  /// flat product archive.
  init(
    _ source: any ByteSource, limits: PackageLimits, isContent: Bool, readsInfo: Bool,
    members: MemberScan? = nil
  ) throws {
    reader = try PackageReader(source, limits: limits, members: members)
    rules = EntryRules(limits: limits, isContent: isContent)
    plainLimit = limits.plainLimit(packedLength: source.length)
    self.isContent = isContent
    self.readsInfo = readsInfo
  }

  /// Reads all entries, and writes them with `unpacker`.
  ///
  /// Throws a finding if the archive is damaged or exceeds a limit.
  func run(_ unpacker: Unpacker? = nil, refuse: Refuse) throws {
    for finding in reader.containerFindings { try refuse(finding) }
    while let header = try reader.next() {
      let verdict = rules.check(header)
      for finding in verdict.findings {
        // Stop here, since this finding would repeat for each entry that follows.
        if ["limit-entries", "limit-paths"].contains(finding.rule) { throw finding }
        try refuse(finding)
      }
      if let entry = verdict.entry {
        collector.begin(entry, readsInfo: readsInfo)
        try unpacker?.begin(entry)
      }
      if header.kind == .file {
        try readFile(header, verdict, unpacker, refuse)
      } else {
        guard try reader.nextBytes().isEmpty else {
          // Do not read data that are not needed to their end, which may be far away.
          let message = "“\(verdict.shown)” is not a regular file but has data"
          throw Finding.entry("entry-data", message, path: verdict.shown)
        }
        try reader.skipData()
      }
      if let entry = verdict.entry { try end(entry, unpacker, refuse) }
    }
    if readsInfo, !collector.entries.contains(where: { $0.path == ContentInfo.fileName }) {
      try refuse(.contentInfoMissing)
    }
  }

  private func end(_ entry: CheckedEntry, _ unpacker: Unpacker?, _ refuse: Refuse) throws {
    let made = try collector.end(entry)
    do {
      try collector.readInfo()
    } catch let error as ContentError where error.code == .contentInfoInvalid {
      try refuse(.contentInfo(error))
    }
    try unpacker?.end(entry, made, info)
  }

  private func readFile(
    _ header: ArchiveEntry, _ verdict: EntryRules.Verdict, _ unpacker: Unpacker?, _ refuse: Refuse
  ) throws {
    let path = verdict.shown
    try checkTotal(adding: header.size ?? 0, path)
    var count: Int64 = 0
    while true {
      let bytes = try reader.nextBytes()
      if bytes.isEmpty { break }
      // Only the last read is shorter than the buffer, so the first one contains any magic number.
      if isContent, count == 0, let kind = ExecutableCode.kind(of: bytes) {
        try refuse(ExecutableCode.finding(kind, path: path))
      }
      try checkTotal(adding: Int64(bytes.count), path)
      count += Int64(bytes.count)
      plainTotal += Int64(bytes.count)
      if let size = header.size, count > size { throw Self.sizeMismatch(path, size, count) }
      guard verdict.entry != nil else { continue }
      try collector.add(bytes)
      try unpacker?.add(bytes)
    }
    if let size = header.size, count != size { throw Self.sizeMismatch(path, size, count) }
  }

  private func checkTotal(adding size: Int64, _ path: String) throws {
    guard size <= plainLimit - plainTotal else {
      throw Finding.limit(
        "limit-size", "The files have more than \(plainLimit) bytes, the limit for this package",
        path: path)
    }
  }

  private static func sizeMismatch(_ path: String, _ expected: Int64, _ found: Int64) -> Finding {
    let more = found > expected ? "at least " : ""
    return .damaged("“\(path)” has \(more)\(found) bytes, expected \(expected)", path: path)
  }
}

/// Creates index entries during a walk: paths, digests and the values of ContentInfo.plist.
private struct EntryCollector: ~Copyable {
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
      let known =
        positions
        ?? Dictionary(
          entries.indices.map { (entries[$0].path, $0) }, uniquingKeysWith: { first, _ in first })
      positions = known
      guard let source = known[path].map({ entries[$0] }) else {
        throw Finding.damaged(
          "“\(path)”, the target of the hard link “\(entry.path)”, was refused", path: path)
      }
      return IndexedFile(path: entry.path, kind: .file, size: source.size, digest: source.digest)
    }
  }
}
