import ContentModel
import FileIO

/// A folder on disk that is packed; entries are sorted by the bytes of their paths.
struct ContentFolder {
  /// A file, folder or link.
  struct Entry {
    /// The path relative to the folder, without `./`.
    let path: String
    let kind: Kind
  }

  /// The kind of an entry, and the location of its bytes.
  enum Kind {
    case directory
    case link(target: String)
    /// A file on disk of `size` bytes.
    case file(size: Int64)
    /// A file whose bytes are in memory.
    case memory([UInt8])
  }

  private let chain: FolderChain
  private let name: String
  private(set) var entries: [Entry] = []
  private var headers: [ArchiveEntry] = []
  private var findings: [Finding] = []
  /// The total bytes of all files, and the bytes of those that are in holes.
  private var (size, holes): (Int64, Int64) = (0, 0)

  /// Lists the folder.
  ///
  /// Messages use `name` for it. Throws if the folder cannot be read.
  init(_ folder: Directory, name: String) throws {
    chain = FolderChain(folder)
    self.name = name
    try list(folder, prefix: "")
    entries.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  /// Replaces ContentInfo.plist.
  mutating func setContentInfo(_ bytes: [UInt8]) {
    entries.removeAll { $0.path == ContentInfo.fileName }
    let entry = Entry(path: ContentInfo.fileName, kind: .memory(bytes))
    // "ContentInfo.plist" sorts before "Contents" and its entries.
    let index = entries.firstIndex { !$0.path.utf8.lexicographicallyPrecedes(entry.path.utf8) }
    entries.insert(entry, at: index ?? entries.endIndex)
  }

  private mutating func list(_ directory: Directory, prefix: String) throws {
    for entry in try directory.entries() {
      guard entry.isText else {
        // The rules reject it with a message, so that no file is left out silently.
        headers.append(
          ArchiveEntry(
            path: Array(prefix.utf8) + entry.bytes,
            kind: entry.kind == .directory ? .directory : .file, permissions: 0o644, size: nil))
        continue
      }
      let name = entry.name
      guard let status = try directory.status(of: name) else { continue }
      let path = prefix + name
      let kind: ArchiveEntry.Kind
      var permissions = status.permissions
      switch status.kind {
      case .directory:
        kind = .directory
        // The setgid and sticky bits belong to the location. They are not packed.
        permissions &= 0o777
        entries.append(Entry(path: path, kind: .directory))
        try list(directory.directory(name), prefix: path + "/")
      case .link:
        let target = try directory.linkBytes(name) ?? []
        kind = .link(target: target)
        entries.append(
          Entry(path: path, kind: .link(target: String(decoding: target, as: UTF8.self))))
      case .file:
        kind = .file
        entries.append(Entry(path: path, kind: .file(size: status.size)))
        let file = try directory.file(name)
        try checkBeginning(of: file, path)
        size += status.size
        // Holes in small files are irrelevant, and finding them takes time.
        if status.size > 1 << 20 { holes += try status.size - file.dataLength() }
      case .other: kind = .unknown
      }
      headers.append(
        ArchiveEntry(
          path: Array(path.utf8), kind: kind, permissions: permissions, size: status.size))
    }
  }

  private mutating func checkBeginning(of file: borrowing File, _ path: String) throws {
    var bytes = [UInt8](repeating: 0, count: ExecutableCode.prefixLength)
    let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    if let kind = ExecutableCode.kind(of: bytes[..<count]) {
      findings.append(ExecutableCode.finding(kind, path: path))
    }
  }

  /// Returns all rules that the folder on disk breaks.
  func brokenRules(_ limits: PackageLimits) -> [Finding] {
    guard headers.contains(where: { $0.path == Array("Contents".utf8) && $0.kind == .directory })
    else {
      return [
        Finding(
          path: nil, rule: "layout", message: "Folder Contents not found in \(name)",
          remedy: "Create a folder Contents inside it and move the files there", code: .buildFailed)
      ]
    }
    var rules = EntryRules(limits: limits, isContent: true)
    // Contents comes first, because the first entry determines the root of the content.
    let sorted = headers.sorted { left, right in
      (left.path ?? []).lexicographicallyPrecedes(right.path ?? [])
    }
    let first = sorted.filter { $0.path == Array("Contents".utf8) }
    let rest = sorted.filter { $0.path != Array("Contents".utf8) }
    return findings + (first + rest).flatMap { rules.check($0).findings }
      + (sizeFinding(limits).map { [$0] } ?? [])
  }

  /// Returns why a package of this folder could not be unpacked, as far as is known before packing.
  private func sizeFinding(_ limits: PackageLimits) -> Finding? {
    func finding(_ message: String, remedy: String) -> Finding {
      Finding(
        path: nil, rule: "limit-size", message: message, remedy: remedy, code: .limitExceeded)
    }
    if size > limits.totalSize {
      return finding(
        "The files have \(size) bytes; the limit is \(limits.totalSize)",
        remedy: "Split the content into several contents or products")
    }
    // The maximum: data that do not compress, holes as zeros, and a header for each entry.
    let packed = size - holes + holes / 500 + Int64(entries.count) * 8192
    guard size > limits.plainLimit(packedLength: packed) else { return nil }
    return finding(
      "The files have \(size) bytes, \(holes) of them in holes: more than "
        + "\(limits.expansionRatio) times the size of their package",
      remedy: "Remove the sparse files. The app can create them")
  }

  /// Opens the file of an entry on disk.
  func open(_ entry: Entry) throws -> File { try chain.file(entry.path) }
}
