import HostedConcurrency
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
