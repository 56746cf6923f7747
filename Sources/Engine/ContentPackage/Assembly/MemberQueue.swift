import Dispatch
import FileIO
import Concurrency

/// A bounded queue of compressed members, from the fetching thread to the decoding threads.
///
/// If the queue is full, the fetching thread decodes the member. This is the back-pressure of a
/// slow disk on a fast network.
final class MemberQueue: Sendable {
  private struct State {
    var waiting: [(member: Int, bytes: LentBytes)] = []
    /// The total bytes of `waiting`.
    var length = 0
    var error: (any Error)?
  }

  private let limit: Int
  private let state = Mutex(State())
  private let ready = DispatchSemaphore(value: 0)

  /// Creates a queue of at most `limit` bytes, or of one longer member.
  init(limit: Int) { self.limit = limit }

  /// Adds a member.
  ///
  /// Returns false if the queue is full.
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

  /// Ends the queue.
  ///
  /// Its readers stop after the last member.
  func close() { ready.signal() }

  /// Passes queued members to `body` until the queue ends.
  ///
  /// Calls `meanwhile` while it is empty.
  ///
  /// An error of `body` is stored if it is the first. An error of `meanwhile` is thrown.
  func drain(
    meanwhile: () throws -> Bool, _ body: (Int, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    while let (member, bytes) = try next(meanwhile) {
      do {
        // After an error, the members are removed but not decoded.
        if error == nil { try bytes.withBytes { try body(member, $0) } }
      } catch {
        fail(error)
      }
    }
    while error == nil, try meanwhile() {}
  }

  /// Removes members until the queue ends.
  func discardAll() {
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
    // Wake the next thread, which also has to see the end.
    if next == nil { ready.signal() }
    return next
  }

  /// Stores `error` if it is the first.
  func fail(_ error: any Error) { state.withLock { $0.error = $0.error ?? error } }

  /// The first error.
  var error: (any Error)? { state.withLock { $0.error } }
}
