import ContentModel
import Dispatch
import Locks

/// Packed members on their way from the thread that fetches to the threads that unpack.
///
/// A fixed number of buffers, so that memory is bounded: while none is free, whoever brings a member
/// has to decode it, so that a fast network waits for a slow disk.
final class MemberQueue: Sendable {
  private struct State {
    var free: [Int]
    var waiting: [(slot: Int, member: Int, length: Int)] = []
    var isClosed = false
    var error: (any Error)?
  }

  private let slots: Slots
  private let state: Mutex<State>
  private let ready = DispatchSemaphore(value: 0)

  /// `count` buffers of `length` bytes.
  init(count: Int, length: Int) {
    slots = Slots(count: count, length: length)
    state = Mutex(State(free: Array(0..<count)))
  }

  /// Copies a member in; false where there is no room.
  func put(_ bytes: UnsafeRawBufferPointer, member: Int) -> Bool {
    guard let slot = state.withLock({ $0.free.popLast() }) else { return false }
    slots[slot].copyMemory(from: bytes)
    state.withLock { $0.waiting.append((slot, member, bytes.count)) }
    ready.signal()
    return true
  }

  /// Says that no more will come.
  func close() {
    state.withLock { $0.isClosed = true }
    ready.signal()
  }

  /// Hands waiting members to `body` until none will come, and does something else `meanwhile`, as long
  /// as there is anything.
  ///
  /// The first error is kept, or thrown if it is one of `meanwhile`.
  func drain(
    meanwhile: () throws -> Bool, _ body: (Int, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    while let (slot, member, length) = try next(meanwhile) {
      do {
        // After an error members are only thrown away, so that nobody waits for room for ever.
        if error == nil {
          try body(member, UnsafeRawBufferPointer(rebasing: slots[slot][..<length]))
        }
      } catch {
        fail(error)
      }
      state.withLock { $0.free.append(slot) }
    }
    while error == nil, try meanwhile() {}
  }

  /// Takes members until none will come, so that nobody waits for room.
  func throwAway() {
    while let (slot, _, _) = try? next({ false }) { state.withLock { $0.free.append(slot) } }
  }

  private func next(_ meanwhile: () throws -> Bool) throws
    -> (slot: Int, member: Int, length: Int)?
  {
    while ready.wait(timeout: .now()) == .timedOut {
      guard try meanwhile() else {
        ready.wait()
        break
      }
    }
    let next = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    // The other threads must hear of the end, too.
    if next == nil { ready.signal() }
    return next
  }

  /// Keeps the first error.
  func fail(_ error: any Error) { state.withLock { $0.error = $0.error ?? error } }

  /// The first error.
  var error: (any Error)? { state.withLock { $0.error } }
}

/// The buffers; each is used by one thread at a time, as the queue hands it on.
private final class Slots: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  private let length: Int

  init(count: Int, length: Int) {
    self.length = (length + 4095) / 4096 * 4096
    memory = .allocate(byteCount: count * self.length, alignment: 4096)
  }

  deinit { memory.deallocate() }

  subscript(_ number: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: memory[(number * length)..<((number + 1) * length)])
  }
}
