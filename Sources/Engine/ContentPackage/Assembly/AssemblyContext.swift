import ContentModel
import Digests
import FileIO
import Concurrency

/// What the threads of an assembly share: files that are being written, and those that are whole.
final class AssemblyContext: Sendable {
  let survey: PackageSurvey
  let name: String
  let folder: Directory
  /// Threads that the work is shared among.
  let workers: Int
  /// Whether each file's bytes are hashed and compared with its digest.
  let comparesDigests: Bool
  /// Nil where the sync at the end writes all.
  let writeback: WritebackThread?
  private let progress: @Sendable (Int64) -> Void

  private let state: Mutex<State>

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
    state = Mutex(
      State(
        identities: survey.states.map { state in
          if case .staged(let identity) = state { identity } else { nil }
        }))
  }

  /// Notes that so many bytes were written.
  func wrote(_ bytes: Int64) {
    writeback?.note(bytes)
    progress(bytes)
  }

  /// Each file's identity once it is whole.
  var identities: [FileIdentity?] { state.withLock { $0.identities } }

  /// Notes that file `number` is whole.
  func complete(_ number: Int, _ identity: FileIdentity) {
    state.withLock { state in
      state.identities[number] = identity
      state.large[number] = nil
    }
  }

  /// The large file `number`; `isNew` for the thread that asked first, which brings what is at
  /// hand.
  func largeFile(_ number: Int, _ chain: FolderChain) throws -> (file: LargeFile, isNew: Bool) {
    let plan = survey.plan
    let entry = plan.index.files[number]
    let place = try chain.parent(of: entry.path)
    return try state.withLock { state in
      if let known = state.large[number] { return (known, false) }
      let range = plan.partsOfFile[number]
      var written: Set<Int> = []
      if case .pieces(let pieces) = survey.states[number] {
        written = Set(pieces.filter { $0.source == nil }.map { $0.part - range.lowerBound })
      }
      let file = try LargeFile(
        entry, Array(plan.parts[range]), written: written, in: place.folder, place.name,
        comparingDigest: comparesDigests)
      state.large[number] = file
      return (file, true)
    }
  }
}
