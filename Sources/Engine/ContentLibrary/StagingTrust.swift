import ContentModel
import Concurrency

/// Whether what lies in staging can be relied on to reach the disk.
///
/// After a failed sync the system may take pages for clean that it could not write: they can be
/// read now, and are not there after a power failure. Nothing that was filled before is believed
/// then, whichever download's sync it was. From any thread.
final class StagingTrust: Sendable {
  private let state = Mutex(State())

  private struct State {
    /// How many syncs have failed.
    var failures = 0
    /// Why the last of them did.
    var failure: ContentError?
    /// How many had when each download's staging was begun.
    var begun: [String: Int] = [:]
  }

  /// Notes that a sync has failed.
  func noteFailure(_ error: any Error) {
    let error = ContentError(error, while: "writing to the disk")
    state.withLock { state in
      state.failures += 1
      state.failure = error
    }
  }

  /// Whether no sync has failed since download `id` was begun, or since the start.
  func isBelieved(_ id: String) -> Bool {
    state.withLock { $0.begun[id, default: 0] == $0.failures }
  }

  /// Notes that download `id` is filled, with nothing in it that is not believed.
  func begin(_ id: String) { state.withLock { $0.begun[id] = $0.failures } }

  /// Throws when a sync has failed since download `id` was begun; the error is of that sync's kind.
  func check(_ id: String) throws {
    guard !isBelieved(id) else { return }
    let failure = state.withLock { $0.failure }
    throw ContentError(
      failure?.code ?? .fileFailed,
      "A sync has failed while \(id) was written, so its files may not be on the disk",
      remedy: failure?.remedy ?? "Check the disk and start again", subject: id,
      cause: failure?.message)
  }

  /// Forgets a download whose staging is gone.
  func forget(_ id: String) { state.withLock { $0.begun[id] = nil } }
}
