import HostedConcurrency
import HostedDigests
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

/// Maps each gzip member to the parts of files that it contains; pure.
struct AssemblyPlan: Sendable {
  /// The bytes of one file in one member.
  struct Part: Sendable {
    let member: Int
    /// The file's number in the index.
    let file: Int
    let memberOffset: Int
    let fileOffset: Int64
    let length: Int
  }

  let index: PackageIndex
  let payload: PayloadIndex
  /// All parts, sorted by member and also by file, since both have the order of the payload.
  let parts: [Part]
  let partsOfMember: [Range<Int>]
  /// The parts of each entry of the index; the range is empty for an entry without data.
  let partsOfFile: [Range<Int>]
  /// The start offset of each member in the package.
  let offsets: [Int64]

  /// Creates a plan; the index must be consistent, and its payload must be `payload`.
  init(_ index: PackageIndex, _ payload: PayloadIndex) {
    self.index = index
    self.payload = payload
    var parts: [Part] = []
    var partsOfMember: [Range<Int>] = []
    var partsOfFile = [Range<Int>](repeating: 0..<0, count: index.files.count)
    let withData = index.files.indices.filter { index.files[$0].size > 0 }
    var offset = payload.offset
    var offsets: [Int64] = []
    var start: Int64 = 0
    var next = 0
    for (number, member) in payload.members.enumerated() {
      let end = start + Int64(member.plainLength)
      let first = parts.count
      var look = next
      while look < withData.count {
        let file = withData[look]
        let data = payload.dataOffsets[file]..<(payload.dataOffsets[file] + index.files[file].size)
        guard data.lowerBound < end else { break }
        let (from, to) = (max(start, data.lowerBound), min(end, data.upperBound))
        if from < to {
          let known = partsOfFile[file]
          partsOfFile[file] = (known.isEmpty ? parts.count : known.lowerBound)..<(parts.count + 1)
          parts.append(
            Part(
              member: number, file: file, memberOffset: Int(from - start),
              fileOffset: from - data.lowerBound, length: Int(to - from)))
        }
        // A file that continues in the next member is visited again there.
        if data.upperBound > end { break }
        look += 1
      }
      next = look
      partsOfMember.append(first..<parts.count)
      offsets.append(offset)
      offset += Int64(member.packedLength)
      start = end
    }
    self.parts = parts
    self.partsOfMember = partsOfMember
    self.partsOfFile = partsOfFile
    self.offsets = offsets
  }

  /// Whether one member contains the whole file, so that it is written at once.
  func isSmall(_ file: Int) -> Bool { partsOfFile[file].count == 1 }

  /// Returns the SHA-256 digest of a part, or nil if the index does not record one.
  func digest(ofPart number: Int) -> Digest? {
    let part = parts[number]
    let member = payload.members[part.member]
    return part.length == member.plainLength ? member.plainDigest : nil
  }
}

extension PackageIndex {
  /// The maximum bytes of members that an update from unchanged files of `old` fetches.
  ///
  /// Nil if this index has no members, so that the whole package is fetched. Pure. An update reads
  /// the installed files, so it can also find pieces that `old` does not list, such as in a file
  /// that was changed without changing its length.
  package func bytesToFetch(updating old: PackageIndex) -> Int64? {
    guard let payload, isConsistent else { return nil }
    let plan = AssemblyPlan(self, payload)
    let installed = InstalledPieces(old)
    var isLocal = [Bool](repeating: false, count: plan.parts.count)
    for (number, file) in files.enumerated() {
      let hasFile = file.digest.map(installed.files.contains) ?? false
      // Like in `PieceFinder`: pieces are only looked for in large files.
      guard hasFile || !plan.isSmall(number) else { continue }
      let pieces = installed.pieces[Array(file.path.utf8)] ?? []
      for part in plan.partsOfFile[number] {
        isLocal[part] = hasFile || plan.digest(ofPart: part).map(pieces.contains) ?? false
      }
    }
    return PackageSurvey.missing(plan, isLocal).reduce(0) { $0 + Int64($1.length) }
  }
}

/// The files of an installed package and their pieces, as its index lists them.
private struct InstalledPieces {
  private(set) var files: Set<Digest> = []
  /// The pieces of the file at each path; keys are bytes, since other bytes can be an equal string.
  private(set) var pieces: [[UInt8]: Set<Digest>] = [:]

  init(_ index: PackageIndex) {
    let plan = index.isConsistent ? index.payload.map { AssemblyPlan(index, $0) } : nil
    for (number, file) in index.files.enumerated() {
      guard let digest = file.digest else { continue }
      files.insert(digest)
      let parts = plan?.partsOfFile[number] ?? 0..<0
      // A file that was not cut is one piece.
      pieces[Array(file.path.utf8)] = Set(parts.compactMap { plan?.digest(ofPart: $0) } + [digest])
    }
  }
}

/// Finds local copies of a plan's files, in staging and in installed trees.
///
/// Read-only. Names are not trusted. A file matches if its recorded identity is unchanged and it is
/// sealed, or if its digest is correct. A piece matches if its digest is correct. A file that
/// cannot be read matches nothing, so its bytes are fetched. Each thread uses its own finder.
final class PieceFinder {
  private let plan: AssemblyPlan
  private let catalog: ReuseCatalog
  private let staging: FolderChain?
  private let chains: [FolderChain]
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)

  init(_ plan: AssemblyPlan, staging: Directory?, _ catalog: ReuseCatalog) {
    self.plan = plan
    self.catalog = catalog
    self.staging = staging.map { FolderChain($0) }
    chains = catalog.trees.map { FolderChain($0.root) }
  }

  deinit { buffer.deallocate() }

  /// Finds the local copy of file `number`; `isStaged`: staging has a file at that path.
  func find(_ number: Int, isStaged: Bool) throws -> LocalCopy {
    let file = plan.index.files[number]
    let staged = try isStaged ? ifReadable { try findStaged(number, file) } ?? .nothing : .nothing
    if case .staged = staged { return staged }
    for place in catalog.places(of: file) {
      if let status = try ifReadable({ try unchanged(place, file) }) {
        return .installed(
          tree: place.tree, path: catalog.path(of: place), isSealed: status.isSealed)
      }
    }
    guard !plan.isSmall(number) else { return .nothing }
    var found: [LocalCopy.Piece] = []
    if case .pieces(let pieces) = staged { found = pieces }
    found += try findPieces(number, file, besides: Set(found.map(\.part)))
    return found.isEmpty ? .nothing : .pieces(found.sorted { $0.part < $1.part })
  }

  /// Returns nil if a file is missing or cannot be read.
  private func ifReadable<Value>(_ body: () throws -> Value?) throws -> Value? {
    try nilIf(.fileMissing, .notPermitted, .fileFailed, body: body)
  }

  // MARK: Staging

  /// Checks a staged file: a sealed file as a whole, a writable file piece by piece.
  private func findStaged(_ number: Int, _ file: IndexedFile) throws -> LocalCopy {
    guard let staging, let status = try staging.status(of: file.path), status.kind == .file else {
      return .nothing
    }
    let opened = try staging.file(file.path)
    if status.permissions & 0o222 == 0 {
      guard status.size == file.size, try hash(opened) == file.digest else { return .nothing }
      return .staged(status.identity)
    }
    guard !plan.isSmall(number) else { return .nothing }
    let found = try plan.partsOfFile[number].filter { part in
      try matches(part, in: opened, at: plan.parts[part].fileOffset)
    }
    return .pieces(found.map { LocalCopy.Piece(part: $0, source: nil) })
  }

  // MARK: Installed files

  /// Returns the status of an installed file if it has the bytes of `file`.
  ///
  /// A file that is not sealed will be copied, so it is read even if it is trusted.
  private func unchanged(_ place: ReuseCatalog.Place, _ file: IndexedFile) throws -> FileStatus? {
    let tree = catalog.trees[place.tree]
    let installed = tree.files[place.file]
    let parent = try chains[place.tree].parent(of: installed.entry.path)
    guard let status = try parent.folder.status(of: parent.name), status.kind == .file,
      status.size == file.size
    else { return nil }
    if tree.isTrusted, status.isSealed, status.identity == installed.identity { return status }
    return try hash(parent.folder.file(parent.name)) == file.digest ? status : nil
  }

  private func hash(_ file: borrowing File) throws -> Digest {
    var digest = DigestStream()
    return try digest.finish(reading: file, through: buffer)
  }

  // MARK: Pieces

  /// Finds the pieces of a changed file in files of the same path, without the `known` ones.
  private func findPieces(_ number: Int, _ file: IndexedFile, besides known: Set<Int>) throws
    -> [LocalCopy.Piece]
  {
    var missing: [Digest: [Int]] = [:]
    for part in plan.partsOfFile[number] where !known.contains(part) {
      if let digest = plan.digest(ofPart: part) { missing[digest, default: []].append(part) }
    }
    var found: [LocalCopy.Piece] = []
    for (tree, files) in catalog.trees.enumerated()
    where !missing.isEmpty && files.hasFile(at: file.path) {
      found += try ifReadable { try findPieces(of: file, in: tree, &missing) } ?? []
    }
    return found
  }

  /// Finds pieces in the file of the same path in `tree`, and removes them from `missing`.
  private func findPieces(of file: IndexedFile, in tree: Int, _ missing: inout [Digest: [Int]])
    throws -> [LocalCopy.Piece]
  {
    let parent = try chains[tree].parent(of: file.path)
    guard let status = try parent.folder.status(of: parent.name), status.kind == .file else {
      return []
    }
    let opened = try parent.folder.file(parent.name)
    var found: [(part: Int, offset: Int64)] = []
    if status.size == file.size {
      // Same offset: an edit or damage often leaves the other pieces in place.
      for (digest, parts) in missing {
        var left: [Int] = []
        for part in parts {
          let offset = plan.parts[part].fileOffset
          if try matches(part, in: opened, at: offset) {
            found.append((part, offset))
          } else {
            left.append(part)
          }
        }
        missing[digest] = left.isEmpty ? nil : left
      }
    }
    found += try cut(opened, finding: &missing)
    return found.map { part, offset in
      LocalCopy.Piece(part: part, source: LocalCopy.Source(tree: tree, offset: offset))
    }
  }

  private func matches(_ part: Int, in file: borrowing File, at offset: Int64) throws -> Bool {
    guard let expected = plan.digest(ofPart: part) else { return false }
    let range = offset..<(offset + Int64(plan.parts[part].length))
    var digest = DigestStream()
    return try digest.finish(reading: file, range, through: buffer) == expected
  }

  /// Cuts a file as the builder does, and returns the pieces that are missing.
  private func cut(_ file: borrowing File, finding missing: inout [Digest: [Int]]) throws
    -> [(part: Int, offset: Int64)]
  {
    var found: [(part: Int, offset: Int64)] = []
    var digest = DigestStream()
    var offset: Int64 = 0
    while !missing.isEmpty {
      let count = try file.read(into: buffer, at: offset)
      guard count > 0 else { break }
      let length = ContentCutter.cut(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      try digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
      let parts = missing.removeValue(forKey: try digest.finish()) ?? []
      found += parts.map { ($0, offset) }
      offset += Int64(length)
    }
    return found
  }
}

/// The local copy of a file's bytes, if there is one; bytes with a local copy are not fetched.
enum LocalCopy: Sendable {
  case nothing
  /// The complete, verified file is in staging.
  case staged(FileIdentity)
  /// The complete file is in an installed tree at `path`.
  ///
  /// It can be hard-linked if `isSealed`, that is, neither writable nor executable.
  case installed(tree: Int, path: String, isSealed: Bool)
  case pieces([Piece])

  struct Piece: Sendable {
    let part: Int
    /// Nil if the part is already at its offset in the staged file.
    let source: Source?
  }

  /// The tree with a file of the same path, and the offset that a piece can be copied from.
  struct Source: Sendable {
    let tree: Int
    let offset: Int64
  }

  var stagedIdentity: FileIdentity? {
    if case .staged(let identity) = self { identity } else { nil }
  }

  /// The parts that are already at their offsets in the staged file.
  var stagedParts: [Int] {
    guard case .pieces(let pieces) = self else { return [] }
    return pieces.filter { $0.source == nil }.map(\.part)
  }
}
