import HostedConcurrency
import HostedDigests
package import HostedFileIO
package import HostedModel

/// Creates the files of a package in a folder, from local copies and from arriving members.
///
/// Several threads decode and write members while later members are fetched. Local files are linked
/// or copied in between. If there is little work, the caller's thread does it, since starting
/// threads would take longer. Nothing is durable until the caller syncs the file system. Members
/// that were taken before an error or a stop are still written, and the survey of the next attempt
/// finds them. Use it from one thread.
package final class PackageAssembly {
  private let expected: ExpectedPackage
  private let context: AssemblyContext
  private let decoders: MemberDecoderPool
  private let writebackThread: WorkerThreads?

  /// Prepares `folder`, the staging folder of `survey`, and starts with the local files.
  ///
  /// The members are authenticated and the index is signed, so each file has the bytes that the
  /// publisher signed. With `comparingDigests`, each file is also hashed and compared with its
  /// digest in the index; `finish` or an earlier call throws `indexMismatch` if they differ. Files
  /// that are copied from installed trees are always compared.
  ///
  /// `workers` threads share the work with the caller, one per processor by default. If it is 0,
  /// `take` decodes on the caller's thread. For a large package, one more thread looks up the names
  /// of files, and then calls `writeback` from time to time to start writing to disk. `progress`
  /// gets the bytes written, from any thread. Throws file system errors, and `indexMismatch` if a
  /// local file has changed since the survey.
  package init(
    _ survey: PackageSurvey, name: String, expected: ExpectedPackage, in folder: Directory,
    workers: Int? = nil, comparingDigests: Bool = true,
    writeback: (@Sendable () -> Void)? = nil, progress: @escaping @Sendable (Int64) -> Void
  ) throws {
    let workers = workers ?? WorkerThreads.standardCount
    self.expected = expected
    let isLarge = workers > 0 && survey.bytesToWrite >= WritebackThread.stretch
    let turns = isLarge && writeback != nil ? WritebackThread() : nil
    context = AssemblyContext(
      survey, name: name, folder: folder, workers: workers, comparingDigests: comparingDigests,
      writeback: turns, progress: progress)
    try survey.prepare(folder)
    decoders = try MemberDecoderPool(context)
    // Last, because only a complete assembly closes it. Without `close`, the thread never ends.
    writebackThread = turns.flatMap { turns in
      let prewarmer = DirectoryCachePrewarmer(survey: survey, folder: folder)
      // Without this thread, the final sync takes longer.
      return try? WorkerThreads(count: 1) { _ in
        prewarmer.lookUpAll { !turns.isClosed }
        turns.run { writeback?() }
      }
    }
  }

  deinit { context.writeback?.close() }

  /// Takes the verified, compressed bytes of the missing member at `offset` in the package.
  ///
  /// Blocks while too many members wait. Throws the first error of any member so far.
  package func take(_ bytes: LentBytes, at offset: Int64) throws {
    let name = context.name
    let missing = context.survey.missing[...]
    let found = missing[missing.partitionPoint { $0.offset < offset }...].first
    guard let found, found.offset == offset, found.length == bytes.count else {
      throw ContentError.defect(
        "\(name): no member of \(bytes.count) bytes is missing at offset \(offset)", subject: name)
    }
    try decoders.take(bytes, member: found.member)
  }

  /// Waits until all files are written.
  ///
  /// Returns every entry, in the order of the index. Throws `indexMismatch`, `archiveDamaged`,
  /// `wrongProduct`, `wrongVersion` and similar errors if the package is not the expected one.
  package func finish() throws -> [InstalledFile] {
    try decoders.finish()
    let name = context.name
    let entries = context.survey.plan.index.files
    let files = try zip(entries, context.identities).map { entry, identity in
      guard entry.kind != .file || identity != nil else {
        throw ContentError.defect("\(name): “\(entry.path)” was not written", subject: name)
      }
      return InstalledFile(entry: entry, identity: identity)
    }
    let list = try context.folder.contents(
      of: ContentInfo.fileName, limit: Int64(ContentInfo.maximumLength))
    try expected.check(ContentInfo(propertyList: list), in: name)
    return files
  }
}

/// Looks up the names of files before they are created, on a separate thread.
///
/// The kernel caches the negative lookup. The thread that creates the file then does not have to
/// read the folder. While ext4 writes the folder to disk, such a read waits for the write.
struct DirectoryCachePrewarmer {
  let survey: PackageSurvey
  let folder: Directory

  /// Looks up every file that is not present, in order, while `isWanted` returns true.
  func lookUpAll(while isWanted: () -> Bool) {
    let chain = FolderChain(folder)
    for file in survey.plan.index.files where file.kind == .file {
      guard isWanted() else { return }
      guard !survey.present.contains(file.path) else { continue }
      // Ignore the error. The thread that creates the file reports it.
      _ = try? chain.status(of: file.path)
    }
  }
}

/// The state that the threads of an assembly share: files in progress and files that are complete.
final class AssemblyContext: Sendable {
  let survey: PackageSurvey
  let name: String
  let folder: Directory
  /// The number of threads that share the work; if it is 0, the caller's thread does all the work.
  let workers: Int
  /// Whether the bytes of each file are hashed and compared with the file's digest.
  let comparesDigests: Bool
  /// Nil if only the final sync writes the data to disk.
  let writeback: WritebackThread?
  private let progress: @Sendable (Int64) -> Void

  private let state: Mutex<State>
  /// Held while a large file is opened, so that one thread opens it.
  private let opening = KeyedLock<Int>()

  private struct State {
    var identities: [FileIdentity?]
    var large: [Int: LargeFile] = [:]
  }

  init(
    _ survey: PackageSurvey, name: String, folder: Directory, workers: Int, comparingDigests: Bool,
    writeback: WritebackThread?, progress: @escaping @Sendable (Int64) -> Void
  ) {
    self.survey = survey
    self.name = name
    self.folder = folder
    self.workers = workers
    comparesDigests = comparingDigests
    self.writeback = writeback
    self.progress = progress
    state = Mutex(State(identities: survey.states.map(\.stagedIdentity)))
  }

  func wrote(_ bytes: Int64) {
    writeback?.note(bytes)
    progress(bytes)
  }

  /// The identity of each file that is complete, by its number in the index.
  var identities: [FileIdentity?] { state.withLock { $0.identities } }

  func complete(_ number: Int, _ identity: FileIdentity) {
    state.withLock { state in
      state.identities[number] = identity
      state.large[number] = nil
    }
  }

  /// Returns the large file `number`, and whether this call opened it.
  ///
  /// The thread that gets `isNew` copies the pieces that are available locally.
  func largeFile(_ number: Int, _ chain: FolderChain) throws -> (file: LargeFile, isNew: Bool) {
    try opening.withLock(for: number) {
      if let known = state.withLock({ $0.large[number] }) { return (known, false) }
      let plan = survey.plan
      let entry = plan.index.files[number]
      let place = try chain.parent(of: entry.path)
      let range = plan.partsOfFile[number]
      let written = Set(survey.states[number].stagedParts.map { $0 - range.lowerBound })
      let file = try LargeFile(
        entry, Array(plan.parts[range]), written: written, in: place.folder, place.name, of: name,
        comparingDigest: comparesDigests)
      state.withLock { $0.large[number] = file }
      return (file, true)
    }
  }
}

/// Starts writing to disk while more data arrive, so that the final sync takes less time.
///
/// Runs on a separate thread after each `stretch` of bytes. Writing many files at once takes half
/// the processor time of writing each file alone.
final class WritebackThread: Sendable {
  /// The bytes between two writes; they take the disk long enough for more to arrive meanwhile.
  static let stretch: Int64 = 32 << 20

  private let bytes = Atomic<Int64>(0)
  /// An element if a write is due; at most one waits while another write runs.
  private let due = BlockingQueue<Void>()
  private let closed = Atomic(false)

  func note(_ bytes: Int64) {
    let (before, after) = self.bytes.wrappingAdd(bytes, ordering: .relaxed)
    if after / Self.stretch > before / Self.stretch { due.add((), if: { $0.isEmpty }) }
  }

  var isClosed: Bool { closed.load(ordering: .relaxed) }

  /// Calls `body` each time enough bytes were written, until `close`.
  func run(_ body: () -> Void) {
    while due.next() != nil, !isClosed { body() }
  }

  /// Ends `run`; call it after the last write.
  func close() {
    closed.store(true, ordering: .relaxed)
    due.close()
  }
}
