import ContentModel
import FileIO

/// A folder on disk as the builder packs it: entries in the order of their paths' bytes.
struct ContentFolder {
  /// A file, folder or link.
  struct Entry {
    /// The path below the folder, without `./`.
    let path: String
    let kind: Kind

    var components: [String] { path.pathComponents() }
  }

  /// What an entry is, and where its bytes are.
  enum Kind {
    case directory
    case link(target: String)
    /// A file of so many bytes on disk.
    case file(size: Int64)
    /// A file whose bytes are here.
    case memory([UInt8])
  }

  let folder: Directory
  private let name: String
  private(set) var entries: [Entry] = []
  private var headers: [ArchiveEntry] = []
  private var findings: [Finding] = []
  /// Bytes of all files, and those of them that are in holes.
  private var (size, holes): (Int64, Int64) = (0, 0)

  /// Lists the folder, which messages call `name`; throws when it cannot be read.
  init(_ folder: Directory, name: String) throws {
    self.folder = folder
    self.name = name
    try list(folder, prefix: "")
    entries.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  /// Puts ContentInfo.plist in the place of the one on disk.
  mutating func setContentInfo(_ bytes: [UInt8]) {
    entries.removeAll { $0.path == ContentInfo.fileName }
    let entry = Entry(path: ContentInfo.fileName, kind: .memory(bytes))
    // "ContentInfo.plist" stands before "Contents" and all in it, as bytes go.
    entries.insert(entry, at: entries.firstIndex { !Self.precedes($0, entry) } ?? entries.endIndex)
  }

  private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
    left.path.utf8.lexicographicallyPrecedes(right.path.utf8)
  }

  private mutating func list(_ directory: Directory, prefix: String) throws {
    for entry in try directory.entries() {
      guard entry.isText else {
        // Left to the rules, which refuse it: nothing is to be missing without a word.
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
        // A folder's setgid and sticky bits belong to the place, and are not packed.
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
        // Holes of small files do not matter, and to look for them takes time.
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

  /// Every rule that the folder breaks as it is on disk.
  func brokenRules(_ limits: PackageLimits) -> [Finding] {
    guard headers.contains(where: { $0.path == Array("Contents".utf8) && $0.kind == .directory })
    else {
      return [
        Finding(
          path: nil, rule: "layout", message: "There is no folder Contents in \(name)",
          remedy: "Put the files into a folder Contents inside it", code: .buildFailed)
      ]
    }
    var rules = EntryRules(limits: limits, isContent: true)
    // Contents goes first, because the first entry decides where the content's root is.
    let sorted = headers.sorted { left, right in
      (left.path ?? []).lexicographicallyPrecedes(right.path ?? [])
    }
    let first = sorted.filter { $0.path == Array("Contents".utf8) }
    let rest = sorted.filter { $0.path != Array("Contents".utf8) }
    return findings + (first + rest).flatMap { rules.check($0).findings }
      + (sizeFinding(limits).map { [$0] } ?? [])
  }

  /// Why no package of this folder could be unpacked, as far as that is known before packing.
  private func sizeFinding(_ limits: PackageLimits) -> Finding? {
    func finding(_ message: String, remedy: String) -> Finding {
      Finding(
        path: nil, rule: "limit-size", message: message, remedy: remedy, code: .limitExceeded)
    }
    if size > limits.totalSize {
      return finding(
        "The files have \(size) bytes, more than the \(limits.totalSize) allowed",
        remedy: "Split the content into several contents or products")
    }
    // At most this long: data that cannot be compressed, holes as zeros, and a header for each
    // entry.
    let packed = size - holes + holes / 500 + Int64(entries.count) * 8192
    guard size > limits.plainLimit(packedLength: packed) else { return nil }
    return finding(
      "The files have \(size) bytes, \(holes) of them in holes: more than "
        + "\(limits.expansionRatio) times the size of their package",
      remedy: "Leave the sparse files out, and let the app create them")
  }

  /// Opens the file of an entry on disk.
  func open(_ entry: Entry) throws -> File {
    let components = entry.components
    return try folder.directory(at: components.dropLast()).file(components.last ?? "")
  }
}
