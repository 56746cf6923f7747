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

  /// Names by their case-folded paths; Swift's equality of strings is canonical equivalence, so é
  /// is one key however it is composed.
  private var seen: [String: Seen] = [:]
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

  private struct Seen {
    let path: String
    let kind: SeenKind
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
    var components = path.components
    if isContent, let finding = place(&components, entry, path.shown) { findings.append(finding) }
    guard findings.isEmpty, !components.isEmpty else {
      if components.isEmpty, findings.isEmpty, entry.kind != .directory {
        findings.append(
          PathRules.finding("path-dot", "The root itself is no folder", path: path.shown))
      }
      return Verdict(shown: path.shown, entry: nil, findings: findings)
    }
    return admit(components, entry, shown: path.shown)
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
  private mutating func place(_ components: inout [String], _ entry: ArchiveEntry, _ shown: String)
    -> Finding?
  {
    guard let first = components.first else { return nil }
    if root == .undecided { decideRoot(components, entry) }
    if case .folder(let top) = root {
      guard Self.isSame(first, top) else { return Self.layoutFinding(shown) }
      components.removeFirst()
    }
    switch components.first {
    case nil: return nil
    case "Contents" where components.count > 1 || entry.kind == .directory: return nil
    case ContentInfo.fileName where components.count == 1 && entry.kind == .file: return nil
    default: return Self.layoutFinding(shown)
    }
  }

  private mutating func decideRoot(_ components: [String], _ entry: ArchiveEntry) {
    let names = ["Contents", ContentInfo.fileName]
    let isInFolder =
      components.count > 1 ? names.contains(components[1]) : entry.kind == .directory
    root =
      !names.contains(components[0]) && isInFolder ? .folder(components[0]) : .top
  }

  /// Whether two names have the same bytes; Swift's `==` would take é for é.
  private static func isSame(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8)
  }

  private static func layoutFinding(_ shown: String) -> Finding {
    Finding(
      path: shown, rule: "layout",
      message: "“\(shown)” is neither ContentInfo.plist nor in Contents",
      remedy: "Put the files into the folder Contents, beside the file ContentInfo.plist",
      code: .entryRefused)
  }

  // MARK: Entries together

  private mutating func admit(_ components: [String], _ entry: ArchiveEntry, shown: String)
    -> Verdict
  {
    let path = components.joined(separator: "/")
    var findings: [Finding] = []
    if components.count > limits.depth {
      findings.append(limitFinding("limit-depth", "“\(shown)” is \(components.count) deep", shown))
    }
    let parentLength = max(0, path.utf8.count - (components.last?.utf8.count ?? 0) - 1)
    let isKnownParent =
      checkedParent.utf8.count == parentLength && path.utf8.starts(with: checkedParent.utf8)
    let (implied, ancestorFinding) =
      isKnownParent ? ([], nil) : impliedFolders(above: components, shown)
    if let ancestorFinding { findings.append(ancestorFinding) }
    let key = path.lowercased()
    let known = seen[key]
    if let known, let finding = collision(path, entry, with: known) { findings.append(finding) }
    let (kind, linkFindings) = checkedKind(entry, components: components, path: path)
    findings += linkFindings
    let added = implied.count + (known == nil ? 1 : 0)
    if seen.count + added > limits.entryCount {
      findings.append(
        limitFinding("limit-entries", "There are more than \(limits.entryCount) entries", shown))
    }
    guard findings.isEmpty else { return Verdict(shown: shown, entry: nil, findings: findings) }
    for folder in implied { seen[folder.lowercased()] = Seen(path: folder, kind: .impliedFolder) }
    seen[key] = Seen(path: path, kind: kind.seenKind)
    if !isKnownParent { checkedParent = components.dropLast().joined(separator: "/") }
    return Verdict(
      shown: shown,
      entry: CheckedEntry(
        path: path, components: components, kind: kind, size: entry.size, impliedFolders: implied,
        isKnownFolder: known != nil), findings: [])
  }

  /// The folders above an entry that no entry has named so far; a finding when one is no folder.
  private func impliedFolders(above components: [String], _ shown: String) -> ([String], Finding?) {
    var implied: [String] = []
    var path = ""
    for component in components.dropLast() {
      path += path.isEmpty ? component : "/\(component)"
      guard let known = seen[path.lowercased()] else {
        implied.append(path)
        continue
      }
      guard Self.isSame(known.path, path) else {
        return ([], Self.sameNameFinding(shown, known.path))
      }
      switch known.kind {
      case .folder, .impliedFolder: continue
      case .link:
        return (
          [],
          PathRules.finding("path-link", "“\(shown)” leads through the link “\(path)”", path: shown)
        )
      case .file:
        return (
          [],
          PathRules.finding(
            "path-file", "“\(shown)” takes the file “\(path)” for a folder", path: shown)
        )
      }
    }
    return (implied, nil)
  }

  private func collision(_ path: String, _ entry: ArchiveEntry, with known: Seen) -> Finding? {
    guard Self.isSame(known.path, path) else { return Self.sameNameFinding(path, known.path) }
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

  private func checkedKind(_ entry: ArchiveEntry, components: [String], path: String)
    -> (CheckedEntry.Kind, [Finding])
  {
    switch entry.kind {
    case .directory: return (.directory, [])
    case .link(let raw):
      let checked = links.check(target: raw, path: path, depth: components.count - 1)
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
    var components = target.components
    if case .folder(let top) = root, components.first.map({ Self.isSame($0, top) }) ?? false {
      components.removeFirst()
    }
    let known = seen[components.joined(separator: "/").lowercased()]
    guard let known, known.kind == .file,
      Self.isSame(known.path, components.joined(separator: "/"))
    else {
      let message = "The hard link “\(path)” leads to “\(target.shown)”, which is no file before it"
      return ([], [PathRules.finding("hard-link", message, path: path)])
    }
    return (components, [])
  }
}

/// What stands at a path that was seen.
private enum SeenKind { case file, link, impliedFolder, folder }

/// An entry that keeps the rules.
struct CheckedEntry {
  /// The path below the content's root, and its components.
  let path: String
  let components: [String]
  let kind: Kind
  /// Bytes of data; nil when the archive does not say.
  let size: Int64?
  /// Folders above it that no entry has named so far, from the top.
  let impliedFolders: [String]
  /// Whether it is a folder that an earlier path has implied.
  let isKnownFolder: Bool

  /// What is to be made.
  enum Kind {
    case file, directory
    case link(target: String)
    case hardLink(to: [String])

    fileprivate var seenKind: SeenKind {
      switch self {
      case .file, .hardLink: .file
      case .directory: .folder
      case .link: .link
      }
    }
  }
}
