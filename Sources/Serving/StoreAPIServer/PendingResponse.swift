import Concurrency
import StoreAPI
import StoreServer

/// The phases of a server.
enum ServerPhase: Int, Comparable {
  case running
  /// Streams end, and other responses are completed.
  case draining
  /// No connection may be suspended.
  case closed

  static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// A complete request that waits for its response, or whose response is a stream.
///
/// Its connection is suspended while nothing can be sent. Then libmicrohttpd does not notice that
/// the client disconnects, and keeps the connection until it is resumed. Thread-safe.
final class PendingResponse: Sendable {
  private let connection: HTTPConnection
  private let state = Serialized(State())

  private struct State {
    var phase = ServerPhase.running
    var isSuspended = false
    /// Whether there was a response, or the request has ended.
    var isAnswered = false
    /// A response that is not sent yet.
    var response: APIResponse?
    /// A stream that is being sent.
    var stream: (any ResponseStream)?
    /// Whether the stream became ready after the last call of `next`.
    var isReady = false
  }

  init(_ connection: HTTPConnection) { self.connection = connection }

  /// Ends streams while the server drains, and all waits when it closes.
  func enter(_ phase: ServerPhase) {
    state.use { state in
      state.phase = max(state.phase, phase)
      if phase == .closed || phase == .draining && state.stream != nil { resume(&state) }
    }
  }

  /// Takes the response from any thread.
  ///
  /// Ignores further ones, and one after the end.
  func respond(_ response: APIResponse) {
    let isFirst = state.use { state in
      guard !state.isAnswered else { return false }
      state.isAnswered = true
      state.response = response
      resume(&state)
      return true
    }
    if !isFirst, case .stream(let stream) = response.body { stream.cancel() }
  }

  private func becomeReady() {
    state.use { state in
      state.isReady = true
      resume(&state)
    }
  }

  private func resume(_ state: inout State) {
    guard state.isSuspended else { return }
    state.isSuspended = false
    connection.resume()
  }

  // MARK: On the daemon's thread

  /// Suspends the connection until the response.
  ///
  /// Returns false if the server closes.
  func suspend() -> Bool {
    state.use { state in
      guard state.phase != .closed else { return false }
      return suspend(&state)
    }
  }

  private func suspend(_ state: inout State) -> Bool {
    state.isSuspended = true
    connection.suspend()
    return true
  }

  /// Returns the response, to send it; nil if the server closes.
  func takeResponse() -> APIResponse? {
    state.use { state in
      defer { state.response = nil }
      if case .stream(let stream)? = state.response?.body { state.stream = stream }
      return state.response
    }
  }

  /// Fills the start of `buffer` with the next bytes of the stream.
  ///
  /// Returns their number, 0 if it has suspended the connection, or `HTTPBody.end`.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    while let stream = nextStream() {
      switch stream.next(buffer.count, onReady: { [self] in becomeReady() }) {
      case .bytes(let bytes):
        let part = bytes.prefix(buffer.count)
        buffer.copyBytes(from: part)
        if !part.isEmpty { return part.count }
      case .wait:
        if suspendUnlessReady() { return 0 }
      case .end:
        _ = takeStream()
      }
    }
    return HTTPBody.end
  }

  private func nextStream() -> (any ResponseStream)? {
    state.use { state in
      state.isReady = false
      return state.phase == .running ? state.stream : nil
    }
  }

  /// `onReady` may have been called before the stream returned `wait`.
  private func suspendUnlessReady() -> Bool {
    state.use { state in
      guard !state.isReady, state.phase == .running else { return false }
      return suspend(&state)
    }
  }

  private func takeStream() -> (any ResponseStream)? {
    state.use { state in
      defer { state.stream = nil }
      return state.stream
    }
  }

  /// The response was sent, or the connection has ended.
  func end() {
    let unsent = state.use { state in
      defer { state.response = nil }
      state.isAnswered = true
      return state.response
    }
    takeStream()?.cancel()
    if case .stream(let stream)? = unsent?.body { stream.cancel() }
  }
}
