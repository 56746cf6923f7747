import HostedConcurrency
import HostedDigests
import HostedFileIO
import HostedModel

/// The threads that create the files of an assembly.
///
/// A small package uses only the caller. Members are decoded as they arrive. Files that are
/// available locally are created in between, and after the last member. Use it from one thread.
final class MemberDecoderPool {
  /// With fewer decompressed bytes than this, decoding ends before threads would have started.
  private static let minimumForThreads = 1 << 20
  /// The limit of the compressed bytes that wait in the queue.
  ///
  /// It is lower than what a source lends, so that the source can continue, and so that the caller
  /// also decodes.
  private static let waitingBytes = 256 << 10

  private let members: [IndexedMember]
  private let caller: MemberWorker
  private let localFiles: LocalFileQueue
  /// Nil if the caller's thread does all the work.
  private let others: (queue: MemberQueue, threads: WorkerThreads)?

  /// Starts with the local files, and prepares for the missing members of the context's survey.
  ///
  /// If no thread can be started, the caller does all the work. Throws errors while local files are
  /// created.
  init(_ context: AssemblyContext) throws {
    let survey = context.survey
    let localFiles = LocalFileQueue(survey)
    let members = survey.plan.payload.members
    let plainLength = survey.missing.reduce(0) { $0 + members[$1.member].plainLength }
    self.members = members
    self.localFiles = localFiles
    caller = try MemberWorker(context)
    let queue = MemberQueue(limit: Self.waitingBytes)
    let work: @Sendable (Int) -> Void = { _ in
      do {
        let worker = try MemberWorker(context)
        try queue.drain(
          meanwhile: { try localFiles.processNext(with: worker) }, { try worker.unpack($0, $1) })
      } catch {
        queue.fail(error)
        localFiles.dropRest()
        queue.discardAll()
      }
    }
    let isLarge = plainLength >= Self.minimumForThreads || localFiles.isLarge
    // One less, since the caller also decodes while the queue is full.
    let count = max(1, context.workers - 1)
    if context.workers > 0, isLarge, let threads = try? WorkerThreads(count: count, work) {
      others = (queue, threads)
    } else {
      others = nil
      while try localFiles.processNext(with: caller) {}
    }
  }

  deinit {
    localFiles.dropRest()
    leave()
  }

  /// Queues the compressed bytes of a member, or decodes them now if the queue is full.
  ///
  /// Throws the first error of any member so far.
  func take(_ bytes: LentBytes, member: Int) throws {
    if let queue = others?.queue {
      if let error = queue.error { throw error }
      // Stored members are in this processor's cache, and only need to be written.
      let isStored = bytes.count >= members[member].plainLength
      if !isStored, queue.put(bytes, member: member) { return }
    }
    try bytes.withBytes { try caller.unpack(member, $0) }
  }

  /// Waits until all files are written; throws the first error of any file.
  func finish() throws {
    while try localFiles.processNext(with: caller) {}
    leave()
    if let error = others?.queue.error { throw error }
    try caller.refreshIdentities(of: localFiles.filesSharingInodes)
  }

  private func leave() {
    others?.queue.close()
    others?.threads.join()
  }
}

/// A work queue of the files that need no member; threads link, copy or create them when idle.
private final class LocalFileQueue: Sendable {
  /// Files that a thread takes at once; they are neighbors, since a folder adds one name at a time.
  private static let portion = 64
  /// Bytes that a thread takes at once.
  private static let portionBytes: Int64 = 1 << 20

  private let files: [Int]
  private let survey: PackageSurvey
  private let state = Mutex(State())

  private struct State {
    /// The index in `files` of the next portion.
    var next = 0
    /// The files that were hard-linked to installed files, with their inodes.
    var links: [(file: Int, inode: UInt64)] = []
  }

  init(_ survey: PackageSurvey) {
    self.survey = survey
    let entries = survey.plan.index.files
    files = entries.indices.filter { number in
      guard entries[number].kind == .file else { return false }
      switch survey.states[number] {
      case .staged: return false
      case .installed: return true
      case .nothing: return entries[number].size == 0
      case .pieces: return survey.plan.partsOfFile[number].allSatisfy { survey.isLocal[$0] }
      }
    }
  }

  /// Whether there is more work than one thread should do.
  var isLarge: Bool { files.count > Self.portion }

  /// Processes the next portion; returns false if all portions are taken.
  func processNext(with worker: MemberWorker) throws -> Bool {
    let taken = state.withLock { state in
      let taken = portion(from: state.next)
      state.next = taken.upperBound
      return taken
    }
    let links = try files[taken].compactMap { number in
      try worker.createLocalFile(number).map { (file: number, inode: $0) }
    }
    state.withLock { $0.links += links }
    return !taken.isEmpty
  }

  private func portion(from start: Int) -> Range<Int> {
    var end = start
    var bytes: Int64 = 0
    while end < files.count, end - start < Self.portion, bytes < Self.portionBytes {
      bytes += survey.bytesToWrite(files[end])
      end += 1
    }
    return start..<end
  }

  /// Drops the portions that no thread has taken.
  func dropRest() { state.withLock { $0.next = files.count } }

  /// The files that share an inode with a new link, which changed the identity of older links.
  ///
  /// An older link can be from an interrupted attempt.
  var filesSharingInodes: [Int] {
    let links = state.withLock(\.links)
    let names = links.reduce(into: [:]) { $0[$1.inode, default: 0] += 1 }
    let staged = survey.states.indices.filter { number in
      survey.states[number].stagedIdentity.map { names[$0.inode] != nil } ?? false
    }
    return links.filter { names[$0.inode, default: 0] > 1 }.map(\.file) + staged
  }
}

/// A bounded queue of compressed members, from the fetching thread to the decoding threads.
///
/// If the queue is full, the fetching thread decodes the member. This is the back-pressure of a
/// slow disk on a fast network.
final class MemberQueue: Sendable {
  /// The limit of waiting members: each `put` adds up their lengths.
  private static let maximumCount = 64

  private let limit: Int
  private let waiting = BlockingQueue<(member: Int, bytes: LentBytes)>()
  private let failure = Mutex((any Error)?.none)

  /// Creates a queue of at most `limit` bytes and 64 members, or of one longer member.
  init(limit: Int) { self.limit = limit }

  /// Adds a member; returns false if the queue is full.
  func put(_ bytes: LentBytes, member: Int) -> Bool {
    waiting.add((member: member, bytes: bytes)) { waiting in
      guard waiting.count < Self.maximumCount else { return false }
      return waiting.isEmpty || waiting.reduce(bytes.count) { $0 + $1.bytes.count } <= limit
    }
  }

  /// Ends the queue; its readers stop after the last member.
  func close() { waiting.close() }

  /// Passes members to `body` until the queue ends; calls `meanwhile` while it is empty.
  func drain(
    meanwhile: () throws -> Bool, _ body: (Int, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    while let (member, bytes) = try waiting.next(meanwhile: meanwhile) {
      // After an error of another thread, the members are removed but not decoded.
      if error == nil { try bytes.withBytes { try body(member, $0) } }
    }
    while error == nil, try meanwhile() {}
  }

  /// Removes members until the queue ends.
  func discardAll() {
    while waiting.next() != nil {}
  }

  func fail(_ error: any Error) { failure.withLock { $0 = $0 ?? error } }

  var error: (any Error)? { failure.withLock { $0 } }
}

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
    let length = max(survey.plan.payload.members.lazy.map(\.plainLength).max() ?? 0, 4096)
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
