import ContentModel
import Digests
import FileIO
import Concurrency

/// A file of several members while its parts arrive in any order, from any thread.
///
/// Each part is written to its place at once. The file's digest, if it is to be compared, is
/// computed over its parts in order, straight from the arriving bytes where these come in turn,
/// else from what was written, which the system still holds in memory.
final class LargeFile: @unchecked Sendable {
  // Unchecked, because `digest` is used only by the one thread that has set `isHashing`, and `file`
  // is set once under the lock, before anyone uses it.

  private struct State {
    var isWritten: [Bool]
    /// Parts that are not written.
    var left: Int
    var isSealed = false
    /// The first part that is not in the digest yet.
    var next = 0
    var isHashing = false
  }

  private let parts: [AssemblyPlan.Part]
  private let entry: IndexedFile
  private let file: File
  private let comparesDigest: Bool
  private let state: Mutex<State>
  private var digest = DigestStream()

  /// Opens or creates the file; `written` are parts that are in their place from before.
  init(
    _ entry: IndexedFile, _ parts: [AssemblyPlan.Part], written: Set<Int>,
    in folder: Directory, _ name: String, comparingDigest: Bool
  ) throws {
    comparesDigest = comparingDigest
    self.entry = entry
    self.parts = parts
    // Writable until it is whole: so the next start can tell.
    file = try folder.updatedFile(name, mode: 0o644)
    let isWritten = parts.indices.map { written.contains($0) }
    state = Mutex(State(isWritten: isWritten, left: isWritten.count { !$0 }))
  }

  /// Writes part `number`; the file's identity when it is whole now, and sealed.
  ///
  /// `scratch` is the thread's own, as long as the longest part. Throws `indexMismatch` when the
  /// bytes together are not those of the file's digest.
  func write(
    _ bytes: PlainRuns, part number: Int, name: String,
    _ scratch: UnsafeMutableRawBufferPointer
  )
    throws -> FileIdentity?
  {
    try file.write(bytes.runs, at: parts[number].fileOffset)
    guard comparesDigest else {
      state.withLock { state in
        if !state.isWritten[number] { state.left -= 1 }
        state.isWritten[number] = true
      }
      return try sealWhole(name)
    }
    let isNext = state.withLock { state in
      state.isWritten[number] = true
      guard state.next == number, !state.isHashing else { return false }
      state.isHashing = true
      return true
    }
    guard isNext else { return nil }
    for run in bytes.runs { try digest.update(run) }
    return try hashOn(name, scratch, isFirstDone: true)
  }

  /// Goes on from what is written already; as `write`.
  func resume(name: String, _ scratch: UnsafeMutableRawBufferPointer) throws -> FileIdentity? {
    guard comparesDigest else { return try sealWhole(name) }
    let mayHash = state.withLock { state in
      guard !state.isHashing, state.next < parts.count, state.isWritten[state.next] else {
        return false
      }
      state.isHashing = true
      return true
    }
    return mayHash ? try hashOn(name, scratch, isFirstDone: false) : nil
  }

  /// What the thread that hashes does next.
  private enum Step {
    case hash(Int), leave, seal
  }

  /// Adds each part that follows and is written; the file's identity when it is whole.
  private func hashOn(
    _ name: String, _ scratch: UnsafeMutableRawBufferPointer, isFirstDone: Bool
  ) throws -> FileIdentity? {
    var isDone = isFirstDone
    while true {
      switch state.withLock({ Self.step(&$0, count: parts.count, isDone: isDone) }) {
      case .leave: return nil
      case .seal: return try seal(name)
      case .hash(let next):
        let part = parts[next]
        let room = UnsafeMutableRawBufferPointer(rebasing: scratch[..<part.length])
        let count = try file.read(into: room, at: part.fileOffset)
        try digest.update(UnsafeRawBufferPointer(rebasing: room[..<count]))
        isDone = true
      }
    }
  }

  private static func step(_ state: inout State, count: Int, isDone: Bool) -> Step {
    if isDone { state.next += 1 }
    guard state.next < count else { return .seal }
    guard state.isWritten[state.next] else {
      state.isHashing = false
      return .leave
    }
    return .hash(state.next)
  }

  /// Seals the file once every part is written; nil before, and for all but the first that asks.
  private func sealWhole(_ name: String) throws -> FileIdentity? {
    let isMine = state.withLock { state in
      guard state.left == 0, !state.isSealed else { return false }
      state.isSealed = true
      return true
    }
    return isMine ? try seal(name) : nil
  }

  private func seal(_ name: String) throws -> FileIdentity {
    let status = try file.status()
    guard try !comparesDigest || digest.finish() == entry.digest, status.size == entry.size else {
      throw ContentError.differs(entry.path, in: name)
    }
    try file.setPermissions(status.permissions & 0o444)
    return try file.status().identity
  }
}

extension ContentError {
  /// A file that is not what the signed index says of it.
  static func differs(_ path: String, in name: String) -> ContentError {
    ContentError(
      .indexMismatch, "\(name): “\(path)” differs from the signed index",
      remedy: "Fetch the package again; if it stays, publish it again", subject: name)
  }
}
