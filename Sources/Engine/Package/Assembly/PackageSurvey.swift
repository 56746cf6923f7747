import HostedConcurrency
package import HostedFileIO
package import HostedModel

/// The local copies of a package's content, and the members that are missing; read-only.
package struct PackageSurvey: Sendable {
  package struct Missing: Hashable, Sendable {
    /// The member's number in the index.
    package let member: Int
    /// The start offset in the package, in bytes.
    package let offset: Int64
    /// The compressed length in bytes.
    package let length: Int
    /// The SHA-256 digest of the compressed bytes.
    package let digest: Digest
  }

  let plan: AssemblyPlan
  let catalog: ReuseCatalog
  let states: [LocalCopy]
  let isLocal: [Bool]
  /// The entries of staging that are not part of the package.
  private let unexpectedEntries: [UnexpectedEntry]
  /// The paths of entries that staging already has, whether they are correct or not.
  let present: Set<String>

  /// The members that must be fetched, in the order of the package.
  package let missing: [Missing]

  package var missingBytes: Int64 { missing.reduce(0) { $0 + Int64($1.length) } }

  /// The bytes of files that are not in staging yet, without links to installed files.
  package var bytesToWrite: Int64 { plan.index.files.indices.reduce(0) { $0 + bytesToWrite($1) } }

  /// Returns the bytes of one file that are not in staging yet; 0 if it can be hard-linked.
  func bytesToWrite(_ number: Int) -> Int64 {
    let size = plan.index.files[number].size
    return switch states[number] {
    case .staged, .installed(_, _, isSealed: true): 0
    case .nothing, .installed(_, _, isSealed: false): size
    case .pieces: size - states[number].stagedParts.reduce(0) { $0 + Int64(plan.parts[$1].length) }
    }
  }

  /// The disk space that staging still needs, in blocks of `blockLength` bytes.
  package func spaceToWrite(blockLength: Int64) -> Int64 {
    plan.index.files.indices.reduce(0) { sum, number in
      let file = plan.index.files[number]
      let isNewFolder = file.kind == .directory && !present.contains(file.path)
      let bytes = isNewFolder ? blockLength : bytesToWrite(number)
      return sum + (bytes + blockLength - 1) / blockLength * blockLength
    }
  }

  /// The compressed bytes of the members that hold files and need not be fetched.
  package var reusedBytes: Int64 {
    plan.payload.members.indices.reduce(-missingBytes) { sum, member in
      sum
        + (plan.partsOfMember[member].isEmpty
          ? 0 : Int64(plan.payload.members[member].packedLength))
    }
  }

  /// The decompressed length of the longest member, in bytes.
  var longestMember: Int { plan.payload.members.lazy.map(\.plainLength).max() ?? 0 }

  /// Compares `staging` and `trees` with the package that `index` describes.
  ///
  /// Blocks. Reads and hashes files on `workers` threads, one per processor by default. Throws the
  /// first rule that the index breaks, `indexMismatch` if it has no members or is inconsistent, and
  /// the errors of `isStopped`. Messages use `name` for the package.
  package init(
    of index: PackageIndex, name: String, staging: Directory?, reusing trees: [ReusableTree],
    limits: PackageLimits = .standard, workers: Int? = nil,
    isStopped: @escaping @Sendable () throws -> Void = {}
  ) throws {
    guard let payload = index.payload, index.isConsistent else {
      throw ContentError(
        .indexMismatch, "\(name) has no index of members",
        remedy: "Ask the owner of the store to publish the package again", subject: name)
    }
    let workers = workers ?? WorkerThreads.standardCount
    let (plan, catalog) = (AssemblyPlan(index, payload), ReuseCatalog(trees))
    // The survey does not write, so it can run in parallel with the check of the rules.
    let (listing, states) = try alongside(
      { try index.check(name: name, limits: limits) }, workers: workers
    ) {
      let listing = try StagingListing(staging, index)
      let states = try Self.states(plan, catalog, staging, listing.present, workers, isStopped)
      return (listing, states)
    }
    self.plan = plan
    self.catalog = catalog
    self.states = states
    present = listing.present
    unexpectedEntries = listing.unexpectedEntries
    isLocal = Self.localParts(plan, states)
    missing = Self.missing(plan, isLocal)
  }

  private static func states(
    _ plan: AssemblyPlan, _ catalog: ReuseCatalog, _ staging: Directory?, _ present: Set<String>,
    _ workers: Int, _ isStopped: @escaping @Sendable () throws -> Void
  ) throws -> [LocalCopy] {
    let files = plan.index.files
    var states = [LocalCopy](repeating: .nothing, count: files.count)
    guard !catalog.trees.isEmpty || !present.isEmpty else { return states }
    let wanted = files.indices.filter { files[$0].size > 0 }
    let found = try inParallel(
      wanted, workers: workers,
      context: { PieceFinder(plan, staging: staging, catalog) }
    ) { number, finder -> (Int, LocalCopy)? in
      try isStopped()
      return (number, try finder.find(number, isStaged: present.contains(files[number].path)))
    }
    for (number, state) in found { states[number] = state }
    return states
  }

  private static func localParts(_ plan: AssemblyPlan, _ states: [LocalCopy]) -> [Bool] {
    var isLocal = [Bool](repeating: false, count: plan.parts.count)
    for (number, state) in states.enumerated() {
      switch state {
      case .nothing: break
      case .staged, .installed: for part in plan.partsOfFile[number] { isLocal[part] = true }
      case .pieces(let pieces): for piece in pieces { isLocal[piece.part] = true }
      }
    }
    return isLocal
  }

  /// The members with a part that is not local.
  static func missing(_ plan: AssemblyPlan, _ isLocal: [Bool]) -> [Missing] {
    plan.payload.members.indices.filter { member in
      plan.partsOfMember[member].contains { !isLocal[$0] }
    }.map { member in
      let entry = plan.payload.members[member]
      return Missing(
        member: member, offset: plan.offsets[member], length: entry.packedLength,
        digest: entry.digest)
    }
  }
}

extension PackageSurvey {
  /// Creates folders and links in staging, and removes unexpected and incorrect entries.
  func prepare(_ staging: Directory) throws {
    let chain = FolderChain(staging)
    for unexpected in unexpectedEntries {
      let place = try chain.parent(of: unexpected.prefix + unexpected.entry.name)
      try place.folder.removeTree(unexpected.entry)
    }
    for (entry, state) in zip(plan.index.files, states) {
      let isPresent = present.contains(entry.path)
      switch entry.kind {
      case .directory where !isPresent:
        let place = try chain.parent(of: entry.path)
        try place.folder.createDirectory(place.name, exclusive: true)
      case .link: try makeLink(entry, chain, isPresent)
      case .file where isPresent && Self.mustRemove(state):
        let place = try chain.parent(of: entry.path)
        try place.folder.removeFile(place.name)
      case .directory, .file: break
      }
    }
  }

  private func makeLink(_ entry: IndexedFile, _ chain: FolderChain, _ isPresent: Bool) throws {
    let place = try chain.parent(of: entry.path)
    if isPresent {
      if try place.folder.link(place.name).hasSameBytes(as: entry.target) { return }
      try place.folder.removeFile(place.name)
    }
    try place.folder.createLink(place.name, to: entry.target ?? "")
  }

  /// Returns whether a file in staging must be removed; only verified content is kept.
  private static func mustRemove(_ state: LocalCopy) -> Bool {
    switch state {
    case .staged: false
    case .pieces: state.stagedParts.isEmpty
    case .nothing, .installed: true
    }
  }
}

/// An entry of staging that is not part of the package.
private struct UnexpectedEntry: Sendable {
  /// The path of the parent folder with a trailing slash; empty for staging itself.
  let prefix: String
  let entry: DirectoryEntry
}

/// The content that an interrupted download has left in staging.
private struct StagingListing {
  private(set) var present: Set<String> = []
  private(set) var unexpectedEntries: [UnexpectedEntry] = []
  private let index: PackageIndex
  // Lazy, since staging is empty in most cases. Keys are bytes, since strings with different bytes
  // can be equal.
  private lazy var kinds = Dictionary(
    index.files.map { (Array($0.path.utf8), $0.kind) }, uniquingKeysWith: { first, _ in first })

  init(_ staging: Directory?, _ index: PackageIndex) throws {
    self.index = index
    if let staging { try list(staging, below: "") }
  }

  private mutating func list(_ folder: Directory, below prefix: String) throws {
    for entry in try folder.entries() {
      switch (entry.kind, kinds[Array(prefix.utf8) + entry.bytes]) {
      case (.directory, .directory):
        let path = prefix + entry.name
        present.insert(path)
        try list(folder.directory(entry.name), below: path + "/")
      case (.file, .file), (.link, .link): present.insert(prefix + entry.name)
      default: unexpectedEntries.append(UnexpectedEntry(prefix: prefix, entry: entry))
      }
    }
  }
}
