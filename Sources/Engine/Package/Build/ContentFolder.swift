import HostedModel
import HostedFileIO

/// A folder on disk that is packed.
struct ContentFolder {
  /// The entries to pack if no rule is broken, without ContentInfo.plist.
  ///
  /// They are sorted by the bytes of their paths.
  private(set) var entries: [CheckedEntry] = []
  /// All rules that the folder on disk breaks.
  private(set) var findings: [Finding] = []

  private let chain: FolderChain
  private let name: String
  private var headers: [ArchiveEntry] = []
  /// The total bytes of all files, and the bytes of those that are in holes.
  private var (size, holes): (Int64, Int64) = (0, 0)

  /// Lists and checks the folder, whose name in messages is `name`; throws if it is unreadable.
  init(_ folder: Directory, name: String, limits: PackageLimits) throws {
    chain = FolderChain(folder)
    self.name = name
    try list(folder, prefix: "")
    check(limits)
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
        try list(directory.directory(name), prefix: path + "/")
      case .link: kind = .link(target: try directory.linkBytes(name) ?? [])
      case .file:
        kind = .file
        let file = try directory.file(name)
        if let code = try ExecutableCode.kind(of: file) {
          findings.append(ExecutableCode.finding(code, path: path))
        }
        size += status.size
        // Holes in small files are irrelevant, and finding them takes time.
        if status.size > 1 << 20 { holes += try status.size - file.dataLength() }
      case .other: kind = .other("of an unknown type")
      }
      headers.append(
        ArchiveEntry(
          path: Array(path.utf8), kind: kind, permissions: permissions, size: status.size))
    }
  }

  private mutating func check(_ limits: PackageLimits) {
    let top = Array("Contents".utf8)
    guard headers.contains(where: { $0.path == top && $0.kind == .directory }) else {
      findings = [
        Finding(
          path: nil, rule: "layout", message: "Folder Contents not found in \(name)",
          remedy: "Create a folder Contents inside it and move the files there", code: .buildFailed)
      ]
      return
    }
    var rules = EntryRules(limits: limits, isContent: true)
    headers.sort { ($0.path ?? []).lexicographicallyPrecedes($1.path ?? []) }
    // Contents comes first, because the first entry determines the root of the content.
    for header in headers.filter({ $0.path == top }) + headers.filter({ $0.path != top }) {
      let verdict = rules.check(header)
      findings += verdict.findings
      if let entry = verdict.entry, entry.path != ContentInfo.fileName { entries.append(entry) }
    }
    if let finding = sizeFinding(limits) { findings.append(finding) }
    entries.sort { $0.path.precedesByBytes($1.path) }
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
    let packed = size - holes + holes / 500 + Int64(headers.count) * 8192
    guard size > limits.plainLimit(packedLength: packed) else { return nil }
    return finding(
      "The files have \(size) bytes, \(holes) of them in holes: more than "
        + "\(limits.expansionRatio) times the size of their package",
      remedy: "Remove the sparse files. The app can create them")
  }

  func open(_ entry: CheckedEntry) throws -> File { try chain.file(entry.path) }
}
