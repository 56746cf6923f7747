import HostedModel
import HostedDigests
import HostedFileIO

/// One thread of an assembly; it decodes members and writes their files.
final class MemberWorker {
  private let context: AssemblyContext
  private let survey: PackageSurvey
  private let chain: FolderChain
  private let sources: [FolderChain]
  private let decompressor: Decompressor
  private let plain: UnsafeMutableRawBufferPointer
  private let scratch: UnsafeMutableRawBufferPointer
  private var digest = DigestStream()

  private var plan: AssemblyPlan { survey.plan }

  init(_ context: AssemblyContext) throws {
    decompressor = try Decompressor()
    self.context = context
    survey = context.survey
    chain = FolderChain(context.folder)
    sources = survey.catalog.trees.map { FolderChain($0.root) }
    let length = max(survey.longestMember, 4096)
    plain = .allocate(byteCount: length, alignment: 4096)
    scratch = .allocate(byteCount: length, alignment: 4096)
  }

  deinit {
    plain.deallocate()
    scratch.deallocate()
  }

  /// Decodes a member, whose bytes are authenticated, and writes its missing parts.
  func unpack(_ number: Int, _ packed: UnsafeRawBufferPointer) throws {
    let member = plan.payload.members[number]
    let bytes =
      try PlainRuns(storedIn: packed, plainLength: member.plainLength) ?? decoded(number, packed)
    for part in plan.partsOfMember[number] where !survey.isLocal[part] {
      let place = plan.parts[part]
      try write(part, bytes[place.memberOffset..<(place.memberOffset + place.length)])
    }
  }

  private func decoded(_ number: Int, _ packed: UnsafeRawBufferPointer) throws -> PlainRuns {
    let member = plan.payload.members[number]
    let room = UnsafeMutableRawBufferPointer(rebasing: plain[..<member.plainLength])
    let expected = Decompressor.Member.complete(packed: packed.count, plain: room.count)
    guard decompressor.decompressMember(packed, into: room) == expected else {
      throw Finding.damaged("Member \(number) does not have the length that the index records")
        .error(in: context.name)
    }
    return PlainRuns(UnsafeRawBufferPointer(room))
  }

  private func write(_ number: Int, _ bytes: PlainRuns) throws {
    let part = plan.parts[number]
    if plan.isSmall(part.file) {
      try writeSmall(part.file, bytes)
    } else {
      let file = try openLarge(part.file)
      let position = number - plan.partsOfFile[part.file].lowerBound
      if let identity = try file.write(bytes, part: position, scratch) {
        context.complete(part.file, identity)
      }
    }
    context.wrote(Int64(bytes.count))
  }

  /// Creates a whole read-only file; if digests are compared, the comparison comes first.
  private func writeSmall(_ number: Int, _ bytes: PlainRuns) throws {
    let entry = plan.index.files[number]
    try ExecutableCode.refuse(
      bytes.prefix(ExecutableCode.prefixLength), at: entry.path, in: context.name)
    if context.comparesDigests {
      for run in bytes.runs { try digest.update(run) }
      guard try digest.finish() == entry.digest else {
        throw ContentError.differs(entry.path, in: context.name)
      }
    }
    let place = try chain.parent(of: entry.path)
    let file = try place.folder.createFile(place.name, mode: 0o444)
    try file.write(bytes.runs, at: 0)
    context.complete(number, try file.status().identity)
  }

  private func openLarge(_ number: Int) throws -> LargeFile {
    let (file, isNew) = try context.largeFile(number, chain)
    if isNew { try copyPieces(number, to: file) }
    return file
  }

  // MARK: Local files

  /// Creates a file that needs no member, and returns its inode if it was hard-linked.
  func createLocalFile(_ number: Int) throws -> UInt64? {
    let entry = plan.index.files[number]
    switch survey.states[number] {
    case .staged: break
    case .nothing: try writeSmall(number, PlainRuns(UnsafeRawBufferPointer(start: nil, count: 0)))
    case .pieces: _ = try openLarge(number)
    case .installed(let tree, let path, let isSealed):
      if isSealed, let identity = try link(entry, to: path, of: tree) {
        context.complete(number, identity)
        return identity.inode
      }
      try copy(number, from: path, of: tree)
    }
    return nil
  }

  /// Hard-links an installed file; returns its new identity, or nil if it cannot be linked.
  private func link(_ entry: IndexedFile, to path: String, of tree: Int) throws -> FileIdentity? {
    let source = try sources[tree].parent(of: path)
    let place = try chain.parent(of: entry.path)
    do {
      try source.folder.hardLink(source.name, to: place.folder, place.name)
    } catch let error as ContentError where error.code != .diskFull {
      // Too many links, another file system, or not permitted: copy the file instead.
      return nil
    }
    return try place.folder.status(of: place.name)?.identity
  }

  func refreshIdentities(of files: [Int]) throws {
    for number in files {
      if let status = try chain.status(of: plan.index.files[number].path) {
        context.complete(number, status.identity)
      }
    }
  }

  private func copy(_ number: Int, from path: String, of tree: Int) throws {
    let entry = plan.index.files[number]
    let place = try chain.parent(of: entry.path)
    let input = try sources[tree].file(path)
    let output = try place.folder.createFile(place.name, mode: 0o444)
    var offset: Int64 = 0
    while true {
      let count = try input.read(into: scratch, at: offset)
      let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<count])
      if offset == 0 { try ExecutableCode.refuse(bytes, at: entry.path, in: context.name) }
      try digest.update(bytes)
      try output.write(bytes)
      offset += Int64(count)
      if count < scratch.count { break }
    }
    guard try digest.finish() == entry.digest else {
      throw ContentError.differs(entry.path, in: context.name)
    }
    context.wrote(offset)
    context.complete(number, try output.status().identity)
  }

  /// Copies the local pieces of a large file, and adds those that are already at their offsets.
  private func copyPieces(_ number: Int, to file: LargeFile) throws {
    guard case .pieces(let pieces) = survey.states[number] else { return }
    let path = plan.index.files[number].path
    let first = plan.partsOfFile[number].lowerBound
    var identity: FileIdentity?
    for piece in pieces {
      guard let source = piece.source else { continue }
      let part = plan.parts[piece.part]
      let room = UnsafeMutableRawBufferPointer.allocate(byteCount: part.length, alignment: 4096)
      defer { room.deallocate() }
      let count = try sources[source.tree].file(path).read(into: room, at: source.offset)
      let bytes = UnsafeRawBufferPointer(rebasing: room[..<count])
      // The piece matched during the survey, but others may write to installed files.
      guard try Digest(of: bytes) == plan.digest(ofPart: piece.part) else {
        throw ContentError.differs(path, in: context.name)
      }
      identity =
        try file.write(PlainRuns(bytes), part: piece.part - first, scratch) ?? identity
      context.wrote(Int64(count))
    }
    identity = try file.resume(scratch) ?? identity
    if let identity { context.complete(number, identity) }
  }
}
