import HostedConcurrency
package import HostedModel
import HostedPackage
import HostedDigests
package import HostedFileIO

/// The rule of a finding about an installed version.
private enum Problem: String {
  case missing, changed, unexpected
  /// `current` does not name an existing version. Reported for the newest version.
  case dangling
}

extension Finding {
  /// Creates a difference between the recorded files and the files on disk.
  ///
  /// The path is below the version's folder; nil for the folder itself.
  fileprivate init(_ content: InstalledContent, _ path: String?, _ problem: Problem) {
    let what =
      switch problem {
      case .missing: "is missing"
      case .changed: "differs from its recorded digest, kind or permissions"
      case .unexpected: "does not belong to the version"
      case .dangling: "does not name an installed version"
      }
    self.init(
      content: content.contentIdentifier, version: content.version, path: path,
      rule: problem.rawValue,
      message: "\(path?.printable(limit: 200) ?? "The folder") of \(content.contentIdentifier) "
        + "\(content.version) \(what)",
      remedy: problem == .dangling
        ? "Start a queue on the library: it makes the newest version current"
        : "Repair the version, or download it again",
      code: .contentDamaged)
  }
}

/// An installed version, as `ContentLibrary.list` returns it.
package struct ListedContent: Sendable {
  package let content: InstalledContent
  package let isCurrent: Bool
  /// Whether recorded files are missing, or have another kind or size; nil if unknown.
  package let lacksFiles: Bool?
}

extension ContentLibrary {
  /// All installed versions, by content and version.
  ///
  /// A content with an unreadable folder is listed without a current version, so that the others
  /// can be used. Operations on that content report the error. Unless `checksFiles`, it is unknown
  /// whether files are missing.
  package func list(checksFiles: Bool = false) throws -> [ListedContent] {
    let portions = Self.portions(of: try journal.installed())
    let listed = try inParallel(
      portions, workers: checksFiles ? WorkerThreads.standardCount : 1, portion: 1, context: {}
    ) { [self] portion, _ in (portion.startIndex, try list(portion, checksFiles)) }
    return listed.sorted { $0.0 < $1.0 }.flatMap(\.1)
  }

  /// Versions whose files are read at a time: at most 64, and few enough files to fit in memory.
  private static func portions(of installed: [InstalledContent]) -> [ArraySlice<InstalledContent>] {
    var (portions, start, entries): ([ArraySlice<InstalledContent>], Int, Int) = ([], 0, 0)
    for (index, content) in installed.enumerated() {
      entries += content.entryCount
      guard entries > 10_000 || index - start == 63 || index == installed.count - 1 else {
        continue
      }
      portions.append(installed[start...index])
      (start, entries) = (index + 1, 0)
    }
    return portions
  }

  private func list(
    _ portion: ArraySlice<InstalledContent>, _ checksFiles: Bool
  ) throws -> [ListedContent] {
    let files = (checksFiles ? try? journal.files(of: portion) : nil) ?? portion.map { _ in nil }
    var (home, current): (Directory?, ContentVersion?)
    var listed: [ListedContent] = []
    for (content, files) in zip(portion, files) {
      if content.contentIdentifier != listed.last?.content.contentIdentifier {
        (home, current) = (nil, nil)
        var folderErrors = FolderErrors()
        try folderErrors.collect {
          home = try self.home(of: content.contentIdentifier)
          current = try home.flatMap { try Self.current(in: $0) }
        }
      }
      listed.append(
        ListedContent(
          content: content, isCurrent: current?.rawValue == content.version.rawValue,
          lacksFiles: checksFiles ? lacksFiles(content, in: home, files) : nil))
    }
    return listed
  }

  /// Whether recorded files are missing; `files` if the record is already read.
  private func lacksFiles(
    _ content: InstalledContent, in home: Directory?, _ files: [InstalledFile]?
  ) -> Bool? {
    if let files, let tree = try? home?.directory(content.version.rawValue),
      (try? missing(files, of: content, in: tree))?.isEmpty == true
    {
      return false
    }
    // It may be being removed. Other users cannot read the records.
    return (try? missingFiles(of: content)).map { !$0.isEmpty }
  }

  /// Compares every byte of an installed version with its record.
  ///
  /// Does not change anything. `pace` limits the read rate; nil is unlimited. `isStopped` is called
  /// before each file, and can throw to end the verification. Throws `notInstalled` if the version
  /// is removed in the meantime.
  package func verify(
    _ content: InstalledContent, pace: ReadThrottle? = nil, isStopped: () throws -> Void = {}
  ) throws -> [Finding] {
    try damages(of: content) { try differences(of: $0, from: content, pace, isStopped) }
  }

  /// The recorded files that are missing or have another kind or size.
  ///
  /// Reads no file. An app may have moved files out of the version's folder, or deleted the folder.
  /// If the record is unreadable, no file is returned; `repair` creates the record again. Throws
  /// `notInstalled` if the version is removed in the meantime.
  package func missingFiles(of content: InstalledContent) throws -> [Finding] {
    try damages(of: content) { tree in
      try missing(recordedFiles(of: content) ?? [], of: content, in: tree)
    }
  }

  /// Those of the recorded `files` that are missing in `tree`, or have another kind or size.
  private func missing(
    _ files: [InstalledFile], of content: InstalledContent, in tree: Directory
  ) throws -> [Finding] {
    let chain = FolderChain(tree)
    return try files.compactMap { file in
      guard let status = try chain.status(of: file.entry.path) else {
        return Finding(content, file.entry.path, .missing)
      }
      return file.entry.isLike(status) ? nil : Finding(content, file.entry.path, .changed)
    }
  }

  /// Whether a version is installed, with all its files by kind and size.
  package func isComplete(_ content: ProductIdentifier, _ version: ContentVersion) throws -> Bool {
    guard let installed = try installed(content, version) else { return false }
    return try nilIf(.notInstalled) { try missingFiles(of: installed).isEmpty } ?? false
  }

  /// The incomplete versions among `contents`, and errors for those that cannot be checked.
  package func incomplete(among contents: Set<ContentKey>) throws
    -> (Set<ContentKey>, [ContentError])
  {
    var folderErrors = FolderErrors()
    var incomplete: Set<ContentKey> = []
    // Sorted, so that a simulation is repeatable.
    let ordered = contents.sorted {
      ($0.contentIdentifier, $0.version) < ($1.contentIdentifier, $1.version)
    }
    for key in ordered {
      try folderErrors.collect {
        if try !isComplete(key.contentIdentifier, key.version) { incomplete.insert(key) }
      }
    }
    return (incomplete, folderErrors.errors)
  }

  /// Returns `differences` for the folder of `content`, unless the version is being removed.
  private func damages(
    of content: InstalledContent, _ differences: (Directory) throws -> [Finding]
  ) throws -> [Finding] {
    guard let tree = try tree(of: content) else { return [Finding(content, nil, .missing)] }
    let result = Result { try differences(tree) }
    if case .success([]) = result { return [] }
    // A removal deletes files only after it has moved the folder. So a folder that is still in its
    // place is really damaged.
    let (name, version) = (content.contentIdentifier, content.version)
    let lease = Result { try self.lease(name, version: version) }
    defer { withExtendedLifetime(lease) {} }
    let place = try folder.products.directory(name.rawValue).status(of: version.rawValue)
    guard try place?.identity.inode == tree.status().identity.inode, try isInstalled(name, version)
    else { throw ContentError.notInstalled(name, version) }
    var found = try result.get()
    if found.first?.rule == Problem.dangling.rawValue {
      // Removing the last version first removes `current`, while the version is locked.
      _ = try lease.get()
      if try !lacksCurrent(content) { found.removeFirst() }
    }
    return found
  }

  /// The folder of an installed version; nil if it is missing for another reason than a removal.
  private func tree(of content: InstalledContent) throws -> Directory? {
    let (name, version) = (content.contentIdentifier, content.version)
    while true {
      if let tree = try versionFolder(content) { return tree }
      // A removed folder is in staging until the journal has forgotten the version.
      let prefix = try StagingName.removalPrefix(of: StagingName.subject(of: name, version))
      guard try !folder.staging.entries().contains(where: { $0.name.hasPrefix(prefix) }),
        try record(of: name, version) != nil
      else { throw ContentError.notInstalled(name, version) }
      // It may have been installed again.
      if try !hasFolder(content) { return nil }
    }
  }

  private func differences(
    of tree: Directory, from content: InstalledContent, _ pace: ReadThrottle?,
    _ isStopped: () throws -> Void
  ) throws -> [Finding] {
    let files = try journal.files(of: content.contentIdentifier, content.version)
    let chain = FolderChain(tree)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
    defer { buffer.deallocate() }
    var found: [Finding] = []
    if try lacksCurrent(content) {
      found.append(Finding(content, Self.currentName, .dangling))
    }
    for file in files {
      try isStopped()
      if let problem = try problem(of: file.entry, chain, buffer, pace) {
        found.append(Finding(content, file.entry.path, problem))
      }
    }
    let known = Set(files.map { Array($0.entry.path.utf8)[...] })
    for path in try Self.paths(in: tree) where !known.contains(path) {
      found.append(Finding(content, String(decoding: path, as: UTF8.self), .unexpected))
    }
    return found
  }

  private func lacksCurrent(_ content: InstalledContent) throws -> Bool {
    guard try currentVersion(of: content.contentIdentifier) == nil else { return false }
    return try !journal.installed(content.contentIdentifier).contains {
      $0.version > content.version
    }
  }

  private func problem(
    of entry: IndexedFile, _ chain: FolderChain, _ buffer: UnsafeMutableRawBufferPointer,
    _ pace: ReadThrottle?
  ) throws -> Problem? {
    guard let status = try chain.status(of: entry.path) else { return .missing }
    guard entry.isLike(status) else { return .changed }
    switch entry.kind {
    case .directory:
      // Other users must not be able to add files beside the verified ones.
      return status.permissions & 0o022 == 0 ? nil : .changed
    case .link:
      let place = try chain.parent(of: entry.path)
      let target = try place.folder.link(place.name)
      return target.hasSameBytes(as: entry.target) ? nil : .changed
    case .file:
      guard status.isSealed else { return .changed }
      let file = try chain.file(entry.path)
      var stream = DigestStream()
      let digest = try stream.finish(reading: file, through: buffer) { pace?.pass($0) }
      return digest == entry.digest ? nil : .changed
    }
  }

  /// The bytes of all paths in a folder.
  ///
  /// Names on disk can be canonically equivalent, or invalid UTF-8; folders with invalid names are
  /// not entered.
  private static func paths(
    in folder: Directory, below prefix: [UInt8] = []
  ) throws -> [ArraySlice<UInt8>] {
    let entries = try folder.entries().sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    return try entries.flatMap { entry in
      let path = prefix + entry.bytes
      guard entry.kind == .directory, entry.isText else { return [path[...]] }
      return try [path[...]]
        + paths(in: folder.directory(entry.name), below: path + [UInt8(ascii: "/")])
    }
  }
}

extension IndexedFile {
  /// Whether `status` has this kind and, for a file, this size.
  fileprivate func isLike(_ status: FileStatus) -> Bool {
    switch kind {
    case .file: status.kind == .file && status.size == size
    case .directory: status.kind == .directory
    case .link: status.kind == .link
    }
  }
}
