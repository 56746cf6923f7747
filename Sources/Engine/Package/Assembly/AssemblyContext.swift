import HostedConcurrency
import HostedDigests
import HostedFileIO
import HostedModel

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
