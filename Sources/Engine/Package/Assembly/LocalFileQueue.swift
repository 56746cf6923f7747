import HostedModel
import HostedFileIO
import HostedConcurrency

/// A work queue of the files that need no member; threads link, copy or create them when idle.
final class LocalFileQueue: Sendable {
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
