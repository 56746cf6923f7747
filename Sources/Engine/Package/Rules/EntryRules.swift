import HostedModel

/// Checks the entries of a package in order, and remembers them.
///
/// Pure. Examination collects all findings, while unpacking stops at the first one. Both use the
/// same rules.
struct EntryRules {
  private let limits: PackageLimits
  /// Whether the rules of hosted content apply, or only those of safety.
  private let isContent: Bool

  private var seen: [FoldedPath: Seen] = [:]

  /// The kind of a known path, and whether only paths below it have implied it.
  private struct Seen {
    let kind: IndexedFile.Kind
    var isImplied = false
  }

  // The total length of all paths and link targets in bytes.
  private var pathTotal = 0
  private var root = Root.undecided
  // The parent of the previous entry. All its ancestors were checked.
  private var checkedParent = ""

  /// Creates rules for about `count` entries.
  init(limits: PackageLimits, isContent: Bool, expecting count: Int = 0) {
    self.limits = limits
    seen.reserveCapacity(min(count, limits.entryCount))
    self.isContent = isContent
  }

  struct Verdict {
    /// The path in a form that is safe for messages.
    let shown: String
    /// The entry to create, or nil if it is refused or is the root itself.
    let entry: CheckedEntry?
    let findings: [Finding]
  }

  /// Returns the entry at `path`, or at a path that differs only in case or Unicode composition.
  private func lookUp(_ path: FoldedPath) -> (path: String, seen: Seen)? {
    seen.index(forKey: path).map { (seen[$0].key.path, seen[$0].value) }
  }

  /// The root of the content, which the first entry determines.
  private enum Root: Equatable {
    case undecided, top
    case folder(String)
  }

  mutating func check(_ entry: ArchiveEntry) -> Verdict {
    let path = PathRules.check(entry.path, limits)
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
        findings.append(.entry("path-dot", "The root is not a folder", path: path.shown))
      }
      return Verdict(shown: path.shown, entry: nil, findings: findings)
    }
    return admit(place, entry, shown: path.shown)
  }

  // MARK: A single entry

  private func typeFindings(_ entry: ArchiveEntry, _ shown: String) -> [Finding] {
    var findings: [Finding] = []
    if case .other(let type) = entry.kind {
      findings.append(.entry("entry-type", "“\(shown)” is \(type)", path: shown))
    }
    if entry.permissions & 0o7000 != 0 {
      let mode = String(entry.permissions, radix: 8)
      findings.append(
        .entry(
          "entry-mode", "“\(shown)” has a setuid, setgid or sticky bit (mode \(mode))", path: shown)
      )
    }
    if isContent, entry.kind == .file, entry.permissions & 0o111 != 0 {
      findings.append(ExecutableCode.modeFinding(entry.permissions, path: shown))
    }
    return findings
  }

  // MARK: Layout

  /// Removes the top folder from the path, and returns a finding if the entry is misplaced.
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

  private static func isBelow(_ folder: String, _ path: String) -> Bool {
    path.beginsWithBytes(of: folder[...])
      && path.utf8.dropFirst(folder.utf8.count).first == UInt8(ascii: "/")
  }

  private static func layoutFinding(_ shown: String) -> Finding {
    Finding(
      path: shown, rule: "layout",
      message: "“\(shown)” is not ContentInfo.plist and not in the folder Contents",
      remedy: "Move the files into the folder Contents, next to ContentInfo.plist",
      code: .entryRefused)
  }

  // MARK: Several entries

  private mutating func admit(_ path: String, _ entry: ArchiveEntry, shown: String) -> Verdict {
    var findings: [Finding] = []
    func exceed(_ rule: String, _ message: String) {
      findings.append(.limit(rule, message, path: shown))
    }
    let above = Self.folders(above: path)
    if above >= limits.depth {
      exceed("limit-depth", "“\(shown)” is nested \(above + 1) levels deep")
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
      exceed(
        "limit-entries",
        "The package has more than \(limits.entryCount) entries; folders count, too")
    }
    let own = known == nil ? path.utf8.count + kind.targetLength : 0
    let length = implied.reduce(own) { $0 + $1.utf8.count }
    if pathTotal + length > limits.pathTotal {
      exceed("limit-paths", "The paths have more than \(limits.pathTotal) bytes in total")
    }
    guard findings.isEmpty else { return Verdict(shown: shown, entry: nil, findings: findings) }
    pathTotal += length
    for folder in implied { seen[FoldedPath(folder)] = Seen(kind: .directory, isImplied: true) }
    seen[key] = Seen(kind: kind.indexed)
    if !isKnownParent { checkedParent = parent.map { String(Substring($0)) } ?? "" }
    return Verdict(
      shown: shown,
      entry: CheckedEntry(
        path: path, kind: kind, size: entry.size, impliedFolders: implied,
        isKnownFolder: known != nil), findings: [])
  }

  /// Returns the number of folders above the last component of a path.
  private static func folders(above path: String) -> Int {
    let slash = UInt8(ascii: "/")
    return path.utf8.withContiguousStorageIfAvailable { bytes in bytes.count { $0 == slash } }
      ?? path.utf8.count { $0 == slash }
  }

  /// Returns the folders above an entry that had no entry so far, from the top.
  ///
  /// Returns a finding if one of them is not a folder. The search starts at the entry and ends at a
  /// known folder, since the folders above that one were already checked.
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
      switch known.seen.kind {
      case .directory: return (implied.reversed(), nil)
      case .link:
        let message = "“\(shown)” is below the link “\(folder)”"
        return ([], .entry("path-link", message, path: shown))
      case .file:
        let message = "“\(shown)” is below the file “\(folder)”"
        return ([], .entry("path-file", message, path: shown))
      }
    }
    return (implied.reversed(), nil)
  }

  private func collision(
    _ path: String, _ entry: ArchiveEntry, with known: (path: String, seen: Seen)
  ) -> Finding? {
    guard known.path.hasSameBytes(as: path) else { return Self.sameNameFinding(path, known.path) }
    if known.seen.isImplied, entry.kind == .directory { return nil }
    return .entry("path-duplicate", "“\(path)” is a duplicate", path: path)
  }

  private static func sameNameFinding(_ path: String, _ known: String) -> Finding {
    .entry(
      "path-same-name",
      "“\(path)” differs from “\(known)” only in case or Unicode composition",
      path: path)
  }

  private func checkedKind(_ entry: ArchiveEntry, above: Int, path: String)
    -> (CheckedEntry.Kind, [Finding])
  {
    switch entry.kind {
    case .directory: return (.directory, [])
    case .link(let raw):
      let checked = LinkRules.check(target: raw, path: path, depth: above, limits)
      return (.link(target: checked.target), checked.findings)
    case .hardLink(let raw):
      let checked = hardLinkTarget(raw, of: path)
      return (.hardLink(to: checked.path), checked.findings)
    // Other types were rejected before.
    case .file, .other: return (.file, [])
    }
  }

  /// Checks that a hard link refers to an earlier file of the same package.
  private func hardLinkTarget(_ raw: [UInt8], of path: String)
    -> (path: String, findings: [Finding])
  {
    let target = PathRules.check(raw, limits)
    guard target.findings.isEmpty else { return ("", target.findings) }
    var place = target.path
    if case .folder(let top) = root, Self.isBelow(top, place) {
      place = String(Substring(place.utf8.dropFirst(top.utf8.count + 1)))
    }
    guard let known = lookUp(FoldedPath(place)), known.seen.kind == .file,
      known.path.hasSameBytes(as: place)
    else {
      let message =
        "The hard link “\(path)” refers to “\(target.shown)”, which is not an earlier file"
      return ("", [.entry("hard-link", message, path: path)])
    }
    return (place, [])
  }
}

/// An entry that keeps the rules.
struct CheckedEntry {
  /// The path relative to the content's root.
  let path: String
  let kind: Kind
  /// The length of the data in bytes, or nil if the archive does not record it.
  let size: Int64?
  /// The folders above it that had no entry so far, from the top.
  let impliedFolders: [String]
  /// Whether it is a folder that an earlier path has implied.
  let isKnownFolder: Bool

  enum Kind {
    case file, directory
    case link(target: String)
    /// A hard link to the earlier file at this path.
    case hardLink(to: String)

    var targetLength: Int {
      if case .link(let target) = self { target.utf8.count } else { 0 }
    }

    /// The kind as an index records it; a hard link is a file there.
    var indexed: IndexedFile.Kind {
      switch self {
      case .file, .hardLink: .file
      case .directory: .directory
      case .link: .link
      }
    }
  }
}

/// The rules for the target of a symbolic link: it must stay inside the content.
///
/// The folders above a link are real folders, since nothing is written through a link. Each leading
/// `..` therefore goes up by exactly one of them, and as many as the link's depth lead to the
/// content's root. After a normal component, `..` is rejected: the component may be another link,
/// and then `..` means the parent of *its* target. For example, with `d -> ..` next to it, `l ->
/// d/..` leads one folder higher than its text says. Without such a `..`, each component goes down
/// or through a link with the same property, so a chain of links cannot leave the content.
private enum LinkRules {
  /// Checks the target of the link at `path`, which is inside `depth` folders.
  static func check(target raw: [UInt8], path: String, depth: Int, _ limits: PackageLimits)
    -> (target: String, findings: [Finding])
  {
    let shown = PathRules.shown(raw)
    var findings: [Finding] = []
    func refuse(_ rule: String, _ what: String) {
      findings.append(
        Finding(
          path: path, rule: rule, message: "The link “\(path)” \(what)",
          remedy: "Use a relative path to a file inside the content, or remove the link",
          code: .entryRefused))
    }
    guard raw.count <= limits.pathLength else {
      refuse("link-target", "has a target of \(raw.count) bytes")
      return (shown, findings)
    }
    let text = String(validating: raw, as: UTF8.self)
    let isPlain =
      text.map { !$0.unicodeScalars.contains { $0.properties.generalCategory == .control } }
      ?? false
    if raw.isEmpty || !isPlain || raw.contains(UInt8(ascii: "\\")) {
      refuse("link-target", "has an invalid target: “\(shown)”")
    }
    if raw.first == UInt8(ascii: "/") {
      refuse("link-absolute", "has the absolute target “\(shown)”")
    }
    var isDown = false
    var ups = 0
    for part in raw.split(separator: UInt8(ascii: "/")) where !part.elementsEqual([46]) {
      guard part.elementsEqual([46, 46]) else {
        isDown = true
        continue
      }
      ups += 1
      if isDown || ups > depth {
        refuse("link-escape", "may lead out of the content: “\(shown)”")
        break
      }
    }
    return (text ?? shown, findings)
  }
}

/// A path as a key that ignores case and Unicode composition.
///
/// It stores the hash of the folded path, since the folded path would double the memory.
private struct FoldedPath: Hashable {
  let path: String
  private let folded: Int

  init(_ path: String) {
    self.path = path
    // Swift compares and hashes strings by canonical equivalence.
    folded = path.lowercased().hashValue
  }

  static func == (left: Self, right: Self) -> Bool {
    left.folded == right.folded
      && (left.path.hasSameBytes(as: right.path)
        || left.path.lowercased() == right.path.lowercased())
  }

  func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

/// The rules for the path of an entry, which only depend on its bytes.
enum PathRules {
  private static let dot = UInt8(ascii: ".")
  private static let slash = UInt8(ascii: "/")
  /// The maximum number of characters of a path in a message.
  private static let shownLimit = 200

  struct Result {
    /// The path in a form that is safe for messages.
    let shown: String
    /// The path without the leading `./` of tar and cpio, and without the trailing `/` of folders.
    ///
    /// Empty for the root itself.
    let path: String
    let findings: [Finding]
  }

  static func check(_ bytes: [UInt8]?, _ limits: PackageLimits) -> Result {
    let raw = bytes ?? []
    let shown = shown(raw)
    var findings: [Finding] = []
    func refuse(_ rule: String, _ what: String) {
      guard !findings.contains(where: { $0.rule == rule }) else { return }
      findings.append(.entry(rule, "The path “\(shown)” \(what)", path: shown))
    }
    guard !raw.isEmpty else {
      refuse("path-empty", "is empty or unreadable")
      return Result(shown: shown, path: "", findings: findings)
    }
    if raw.first == UInt8(ascii: "/") { refuse("path-absolute", "is absolute") }
    if raw.count > limits.pathLength { refuse("path-length", "has \(raw.count) bytes") }
    if raw.contains(UInt8(ascii: "\\")) { refuse("path-backslash", "contains a backslash") }
    // Printable ASCII is common, and needs no Unicode lookups.
    let isPrintable = raw.allSatisfy { 32...126 ~= $0 }
    if !isPrintable {
      let text = String(validating: raw, as: UTF8.self)
      if text == nil { refuse("path-encoding", "is not valid UTF-8") }
      if let text,
        text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
      {
        refuse("path-control", "contains a control character")
      }
    }
    guard let path = withoutEnds(raw) else {
      return Result(shown: shown, path: "", findings: findings)
    }
    var start = path.startIndex
    while start <= path.endIndex {
      let end = path[start...].firstIndex(of: slash) ?? path.endIndex
      let part = path[start..<end]
      start = end + 1
      switch (part.count, part.first, part.last) {
      case (0, _, _): refuse("path-empty", "has an empty component")
      case (1, dot, _): refuse("path-dot", "contains the component “.”")
      case (2, dot, dot): refuse("path-parent", "contains “..”")
      default: break
      }
      if part.count > limits.componentLength {
        refuse("path-length", "has a component of \(part.count) bytes")
      }
    }
    let isShown = isPrintable && path.count == raw.count && raw.count <= shownLimit
    return Result(
      shown: shown, path: isShown ? shown : String(decoding: path, as: UTF8.self),
      findings: findings)
  }

  /// Returns the path without a leading `./` and a trailing `/`, or nil for the root itself.
  private static func withoutEnds(_ raw: [UInt8]) -> ArraySlice<UInt8>? {
    var rest = raw[...]
    if rest.last == slash, rest.count > 1 { rest = rest.dropLast() }
    if rest.first == dot {
      if rest.count == 1 { return nil }
      if rest.dropFirst().first == slash { rest = rest.dropFirst(2) }
    }
    if rest.first == slash { rest = rest.dropFirst() }
    return rest
  }

  /// Returns text from outside in a form that is safe for messages: limited and valid.
  static func shown(_ raw: [UInt8]) -> String {
    // A character has at most four bytes. One more character shows that the text is longer.
    String(decoding: raw.prefix(4 * (shownLimit + 1)), as: UTF8.self).printable(limit: shownLimit)
  }
}
