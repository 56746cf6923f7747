import HostedDigests
import HostedFileIO
import HostedModel

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
    for tree in catalog.treesWithNamesake(of: file) where !missing.isEmpty {
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

  /// The identity of a complete file in staging.
  var stagedIdentity: FileIdentity? {
    if case .staged(let identity) = self { identity } else { nil }
  }

  /// The parts that are already at their offsets in the staged file.
  var stagedParts: [Int] {
    guard case .pieces(let pieces) = self else { return [] }
    return pieces.filter { $0.source == nil }.map(\.part)
  }
}
