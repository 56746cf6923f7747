import Dispatch
import FileIO
import Concurrency

/// Packed members on their way from the thread that fetches to the threads that unpack.
///
/// Few may wait: then whoever brings a member has to decode it, so that a fast network waits for a
/// slow disk.
final class MemberQueue: Sendable {
  private struct State {
    var waiting: [(member: Int, bytes: LentBytes)] = []
    /// Bytes of those.
    var length = 0
    var error: (any Error)?
  }

  private let limit: Int
  private let state = Mutex(State())
  private let ready = DispatchSemaphore(value: 0)

  /// At most `limit` bytes wait, or one longer member.
  init(limit: Int) { self.limit = limit }

  /// Keeps a member until it is decoded; false where there is no room.
  func put(_ bytes: LentBytes, member: Int) -> Bool {
    let isTaken = state.withLock { state in
      guard state.waiting.isEmpty || state.length + bytes.count <= limit else { return false }
      state.waiting.append((member, bytes))
      state.length += bytes.count
      return true
    }
    if isTaken { ready.signal() }
    return isTaken
  }

  /// Says that no more will come.
  func close() { ready.signal() }

  /// Hands waiting members to `body` until none will come, and does something else `meanwhile`, as
  /// long as there is anything.
  ///
  /// The first error is kept, or thrown if it is one of `meanwhile`.
  func drain(
    meanwhile: () throws -> Bool, _ body: (Int, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    while let (member, bytes) = try next(meanwhile) {
      do {
        // After an error members are only thrown away, so that nobody waits for room for ever.
        if error == nil { try bytes.withBytes { try body(member, $0) } }
      } catch {
        fail(error)
      }
    }
    while error == nil, try meanwhile() {}
  }

  /// Takes members until none will come, so that nobody waits for room.
  func throwAway() {
    while case _? = try? next({ false }) {}
  }

  private func next(_ meanwhile: () throws -> Bool) throws -> (member: Int, bytes: LentBytes)? {
    while ready.wait(timeout: .now()) == .timedOut {
      guard try meanwhile() else {
        ready.wait()
        break
      }
    }
    let next = state.withLock { state -> (member: Int, bytes: LentBytes)? in
      guard !state.waiting.isEmpty else { return nil }
      state.length -= state.waiting[0].bytes.count
      return state.waiting.removeFirst()
    }
    // The other threads must hear of the end, too.
    if next == nil { ready.signal() }
    return next
  }

  /// Keeps the first error.
  func fail(_ error: any Error) { state.withLock { $0.error = $0.error ?? error } }

  /// The first error.
  var error: (any Error)? { state.withLock { $0.error } }
}
