import ContentModel

/// Judges entry after entry, remembering what was there: no input or output, only rules.
///
/// Examination collects all findings; unpacking stops at the first. Both ask the same rules.
struct EntryRules {
  private let limits: PackageLimits
  /// Whether the layout and the rules of hosted content are asked for, or only safety.
  private let isContent: Bool
  private let paths: PathRules
  private let links: LinkRules

  private var seen: [FoldedPath: SeenKind] = [:]
  // Bytes of what was seen.
  private var pathTotal = 0
  private var root = Root.undecided
  // The parent of the entry before, whose ancestors were all checked.
  private var checkedParent = ""

  /// Expects about `count` entries.
  init(limits: PackageLimits, isContent: Bool, expecting count: Int = 0) {
    self.limits = limits
    seen.reserveCapacity(min(count, limits.entryCount))
    self.isContent = isContent
    paths = PathRules(limits: limits)
    links = LinkRules(limits: limits)
  }

  /// What the rules say of one entry.
  struct Verdict {
    /// The path as messages may show it.
    let shown: String
    /// What to make of the entry; nil when it is refused, or is the root itself.
    let entry: CheckedEntry?
    let findings: [Finding]
  }

  /// What was seen at `path`, or at one that differs only in case or in how it is composed.
  private func lookUp(_ path: FoldedPath) -> (path: String, kind: SeenKind)? {
    seen.index(forKey: path).map { (seen[$0].key.path, seen[$0].value) }
  }

  /// Where the content's root is; the first entry decides.
  private enum Root: Equatable {
    case undecided, top
    case folder(String)
  }

  /// Files, folders and links so far, implied folders included.
  var entryCount: Int { seen.count }

  /// Judges the next entry.
  mutating func check(_ entry: ArchiveEntry) -> Verdict {
    let path = paths.check(entry.path)
    var findings = typeFindings(entry, path.shown) + path.findings
    guard path.findings.isEmpty else {
      return Verdict(shown: path.shown, entry: nil, findings: findings)
    }
    var place = path.path
    if isContent, !place.isEmpty, let finding = moveIntoContent(&place, entry, path.shown) {
      findings.append(finding)
    }
    guard findings.isEmpty, !place.isEmpty else {
      if findings.isEmpty, entry.kind != .directory {
        findings.append(
          PathRules.finding("path-dot", "The root itself is no folder", path: path.shown))
      }
      return Verdict(shown: path.shown, entry: nil, findings: findings)
    }
    return admit(place, entry, shown: path.shown)
  }

  // MARK: One entry alone

  private func typeFindings(_ entry: ArchiveEntry, _ shown: String) -> [Finding] {
    var findings: [Finding] = []
    let refused: String? =
      switch entry.kind {
      case .file, .directory, .link, .hardLink: nil
      case .characterDevice: "a character device"
      case .blockDevice: "a block device"
      case .pipe: "a FIFO"
      case .socket: "a socket"
      case .unknown: "of an unknown type"
      }
    if let refused {
      findings.append(PathRules.finding("entry-type", "“\(shown)” is \(refused)", path: shown))
    }
    if entry.permissions & 0o7000 != 0 {
      let mode = String(entry.permissions, radix: 8)
      findings.append(
        PathRules.finding(
          "entry-mode", "“\(shown)” has a setuid, setgid or sticky bit (mode \(mode))", path: shown)
      )
    }
    if isContent, entry.kind == .file, entry.permissions & 0o111 != 0 {
      findings.append(ExecutableCode.modeFinding(entry.permissions, path: shown))
    }
    return findings
  }

  // MARK: Layout

  /// Strips the top folder; a finding when the entry is not where content lies.
  private mutating func moveIntoContent(
    _ path: inout String, _ entry: ArchiveEntry, _ shown: String
  ) -> Finding? {
    if root == .undecided { decideRoot(path.pathComponents(), entry) }
    if case .folder(let top) = root {
      if path.hasSameBytes(as: top) {
        path = ""
        return nil
      }
      guard Self.isBelow(top, path) else { return Self.layoutFinding(shown) }
      path = String(Substring(path.utf8.dropFirst(top.utf8.count + 1)))
    }
    let isPlaced =
      Self.isBelow("Contents", path) || (entry.kind == .directory && path == "Contents")
      || (entry.kind == .file && path == ContentInfo.fileName)
    return isPlaced ? nil : Self.layoutFinding(shown)
  }

  private mutating func decideRoot(_ components: [String], _ entry: ArchiveEntry) {
    let names = ["Contents", ContentInfo.fileName]
    let isInFolder =
      components.count > 1 ? names.contains(components[1]) : entry.kind == .directory
    root =
      !names.contains(components[0]) && isInFolder ? .folder(components[0]) : .top
  }

  /// Whether `path` leads to something in `folder`.
  private static func isBelow(_ folder: String, _ path: String) -> Bool {
    path.beginsWithBytes(of: folder[...])
      && path.utf8.dropFirst(folder.utf8.count).first == UInt8(ascii: "/")
  }

  private static func layoutFinding(_ shown: String) -> Finding {
    Finding(
      path: shown, rule: "layout",
      message: "“\(shown)” is neither ContentInfo.plist nor in Contents",
      remedy: "Put the files into the folder Contents, beside the file ContentInfo.plist",
      code: .entryRefused)
  }

  // MARK: Entries together

  private mutating func admit(_ path: String, _ entry: ArchiveEntry, shown: String) -> Verdict {
    var findings: [Finding] = []
    let above = Self.folders(above: path)
    if above >= limits.depth {
      findings.append(limitFinding("limit-depth", "“\(shown)” is \(above + 1) deep", shown))
    }
    let parent = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8[..<$0] }
    let isKnownParent = checkedParent.hasSameBytes(as: Substring(parent ?? path.utf8.prefix(0)))
    let (implied, ancestorFinding) =
      isKnownParent ? ([], nil) : impliedFolders(above: path, shown)
    if let ancestorFinding { findings.append(ancestorFinding) }
    let key = FoldedPath(path)
    let known = lookUp(key)
    if let known, let finding = collision(path, entry, with: known) { findings.append(finding) }
    let (kind, linkFindings) = checkedKind(entry, above: above, path: path)
    findings += linkFindings
    let added = implied.count + (known == nil ? 1 : 0)
    if seen.count + added > limits.entryCount {
      findings.append(
        limitFinding(
          "limit-entries",
          "There are more than \(limits.entryCount) files and folders; folders count too", shown))
    }
    let own = known == nil ? path.utf8.count + kind.targetLength : 0
    let length = implied.reduce(own) { $0 + $1.utf8.count }
    if pathTotal + length > limits.pathTotal {
      findings.append(
        limitFinding(
          "limit-paths", "All paths have more than \(limits.pathTotal) bytes together", shown))
    }
    guard findings.isEmpty else { return Verdict(shown: shown, entry: nil, findings: findings) }
    pathTotal += length
    for folder in implied { seen[FoldedPath(folder)] = .impliedFolder }
    seen[key] = kind.seenKind
    if !isKnownParent { checkedParent = parent.map { String(Substring($0)) } ?? "" }
    return Verdict(
      shown: shown,
      entry: CheckedEntry(
        path: path, kind: kind, size: entry.size, impliedFolders: implied,
        isKnownFolder: known != nil), findings: [])
  }

  /// How many folders a path names above its last component.
  private static func folders(above path: String) -> Int {
    let slash = UInt8(ascii: "/")
    return path.utf8.withContiguousStorageIfAvailable { bytes in bytes.count { $0 == slash } }
      ?? path.utf8.count { $0 == slash }
  }

  /// The folders above an entry that no entry has named so far, from the top; a finding when one is
  /// no folder.
  ///
  /// It begins at the entry: what lies above a folder that was seen was checked with it.
  private func impliedFolders(above path: String, _ shown: String) -> ([String], Finding?) {
    var implied: [String] = []
    var rest = path.utf8[...]
    while let slash = rest.lastIndex(of: UInt8(ascii: "/")) {
      rest = rest[..<slash]
      let folder = String(Substring(rest))
      guard let known = lookUp(FoldedPath(folder)) else {
        implied.append(folder)
        continue
      }
      guard known.path.hasSameBytes(as: folder) else {
        return ([], Self.sameNameFinding(shown, known.path))
      }
      switch known.kind {
      case .folder, .impliedFolder: return (implied.reversed(), nil)
      case .link:
        let message = "“\(shown)” leads through the link “\(folder)”"
        return ([], PathRules.finding("path-link", message, path: shown))
      case .file:
        let message = "“\(shown)” takes the file “\(folder)” for a folder"
        return ([], PathRules.finding("path-file", message, path: shown))
      }
    }
    return (implied.reversed(), nil)
  }

  private func collision(
    _ path: String, _ entry: ArchiveEntry, with known: (path: String, kind: SeenKind)
  ) -> Finding? {
    guard known.path.hasSameBytes(as: path) else { return Self.sameNameFinding(path, known.path) }
    if known.kind == .impliedFolder, entry.kind == .directory { return nil }
    return PathRules.finding("path-duplicate", "“\(path)” is there twice", path: path)
  }

  private static func sameNameFinding(_ path: String, _ known: String) -> Finding {
    PathRules.finding(
      "path-same-name",
      "“\(path)” differs from “\(known)” only in case or in how its characters are composed",
      path: path)
  }

  private func limitFinding(_ rule: String, _ message: String, _ path: String) -> Finding {
    Refusal.limit(rule, message, path: path).finding
  }

  private func checkedKind(_ entry: ArchiveEntry, above: Int, path: String)
    -> (CheckedEntry.Kind, [Finding])
  {
    switch entry.kind {
    case .directory: return (.directory, [])
    case .link(let raw):
      let checked = links.check(target: raw, path: path, depth: above)
      return (.link(target: checked.target), checked.findings)
    case .hardLink(let raw):
      let checked = hardLinkTarget(raw, of: path)
      return (.hardLink(to: checked.components), checked.findings)
    // Other types have been refused before.
    default: return (.file, [])
    }
  }

  /// A hard link is a second name of a file that this very package has written before.
  private func hardLinkTarget(_ raw: [UInt8], of path: String)
    -> (components: [String], findings: [Finding])
  {
    let target = paths.check(raw)
    guard target.findings.isEmpty else { return ([], target.findings) }
    var place = target.path
    if case .folder(let top) = root, Self.isBelow(top, place) {
      place = String(Substring(place.utf8.dropFirst(top.utf8.count + 1)))
    }
    guard let known = lookUp(FoldedPath(place)), known.kind == .file,
      known.path.hasSameBytes(as: place)
    else {
      let message = "The hard link “\(path)” leads to “\(target.shown)”, which is no file before it"
      return ([], [PathRules.finding("hard-link", message, path: path)])
    }
    return (place.pathComponents(), [])
  }
}

/// A path that is the same key in any case, and however its characters are composed.
///
/// It keeps the hash of its folded form, not that form, which would take as much memory again.
private struct FoldedPath: Hashable {
  let path: String
  private let folded: Int

  init(_ path: String) {
    self.path = path
    // Swift's equality of strings is canonical equivalence, and so is what it hashes.
    folded = path.lowercased().hashValue
  }

  static func == (left: Self, right: Self) -> Bool {
    left.folded == right.folded
      && (left.path.hasSameBytes(as: right.path)
        || left.path.lowercased() == right.path.lowercased())
  }

  func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

/// What stands at a path that was seen.
private enum SeenKind { case file, link, impliedFolder, folder }

/// An entry that keeps the rules.
struct CheckedEntry {
  /// The path below the content's root.
  let path: String
  let kind: Kind
  /// Bytes of data; nil when the archive does not say.
  let size: Int64?
  /// Folders above it that no entry has named so far, from the top.
  let impliedFolders: [String]
  /// Whether it is a folder that an earlier path has implied.
  let isKnownFolder: Bool

  /// The names of the path.
  var components: [String] { path.pathComponents() }

  /// What is to be made.
  enum Kind {
    case file, directory
    case link(target: String)
    case hardLink(to: [String])

    fileprivate var targetLength: Int {
      if case .link(let target) = self { target.utf8.count } else { 0 }
    }

    fileprivate var seenKind: SeenKind {
      switch self {
      case .file, .hardLink: .file
      case .directory: .folder
      case .link: .link
      }
    }
  }
}
