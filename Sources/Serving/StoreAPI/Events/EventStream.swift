import HostedConcurrency
import HostedShop

/// A stream of events to one client.
///
/// At most one chunk waits for the client. The client's position is kept, and not the events, so
/// that a slow client needs no memory.
final class EventStream: ResponseStream {
  typealias Instant = ContinuousClock.Instant

  let viewer: AccountAccess
  /// The stream ends then, so that the client is authenticated again: its JWT may have expired.
  private let end: Instant
  private let feed: EventFeed
  private let state: Mutex<State>

  private struct State {
    /// After the events that were put into `pending`.
    var position: LedgerPosition
    /// What the client has not taken.
    var pending: ArraySlice<UInt8>
    /// Whether there may be more events.
    var isBehind = false
    var lastChunk: Instant
    var phase = Phase.open
    var onReady: (@Sendable () -> Void)?

    /// Makes `chunk` pending, or a heartbeat if `chunk` is empty and one is due.
    ///
    /// Only for a stream whose client has taken everything.
    mutating func set(_ chunk: [UInt8], at now: Instant) {
      guard !chunk.isEmpty || now - lastChunk >= EventStream.heartbeatInterval else { return }
      (pending, lastChunk) = ((chunk.isEmpty ? EventStream.heartbeat : chunk)[...], now)
    }
  }

  private enum Phase {
    case open
    /// It ends after the pending bytes.
    case ended
    /// The client has left.
    case canceled
  }

  private static let lifetime: Duration = .seconds(15 * 60)
  private static let heartbeatInterval: Duration = .seconds(15)
  private static let heartbeat = Array(":\n\n".utf8)
  /// The maximum length of a chunk of several events, in bytes.
  static let maximumChunk = 64 << 10

  init(_ feed: EventFeed, viewer: AccountAccess, after position: LedgerPosition, from now: Instant)
  {
    self.feed = feed
    self.viewer = viewer
    end = now + Self.lifetime
    // An event without data only sets the identifier from which the client resumes.
    let first = Array("id: \(position.cursor)\n\n".utf8)
    state = Mutex(State(position: position, pending: first[...], lastChunk: now))
  }

  // MARK: The client

  func next(_ limit: Int, onReady: @escaping @Sendable () -> Void) -> ResponsePart {
    let (part, isBehind) = state.withLock { state -> (ResponsePart, Bool) in
      if !state.pending.isEmpty {
        let part = state.pending.prefix(max(limit, 1))
        state.pending = state.pending.dropFirst(part.count)
        // An empty slice would keep the memory of the chunk.
        if state.pending.isEmpty { state.pending = [] }
        return (.bytes(Array(part)), false)
      }
      guard state.phase == .open else { return (.end, false) }
      state.onReady = onReady
      return (.wait, state.isBehind)
    }
    if isBehind { feed.wake() }
    return part
  }

  func cancel() {
    state.withLock { state in
      (state.phase, state.pending, state.onReady) = (.canceled, [], nil)
    }
  }

  // MARK: The feed

  enum Demand {
    case events(after: LedgerPosition)
    /// The client has not taken the last chunk.
    case nothing
    /// The client has left, or the time of the stream is over.
    case finished
  }

  func demand(at now: Instant) -> Demand {
    state.withLock { state in
      if state.phase == .canceled { return .finished }
      guard state.pending.isEmpty else {
        state.isBehind = true
        return .nothing
      }
      return now < end ? .events(after: state.position) : .finished
    }
  }

  /// Sends `chunk`, or a heartbeat if it is empty and one is due.
  func send(_ chunk: [UInt8], after position: LedgerPosition, isBehind: Bool, at now: Instant) {
    advance { state in
      (state.position, state.isBehind) = (position, isBehind)
      state.set(chunk, at: now)
    }
  }

  /// Sends a heartbeat if one is due.
  func keepAlive(at now: Instant) { advance { $0.set([], at: now) } }

  /// Ends the stream after the pending bytes.
  func finish() { advance { $0.phase = .ended } }

  /// Changes the state, and notifies a waiting client if `next` has another result now.
  private func advance(_ change: (inout State) -> Void) {
    let onReady = state.withLock { state -> (@Sendable () -> Void)? in
      guard state.phase != .canceled else { return nil }
      change(&state)
      guard state.phase == .ended || !state.pending.isEmpty else { return nil }
      defer { state.onReady = nil }
      return state.onReady
    }
    onReady?()
  }
}
