import HostedHTTPValues
import HostedConcurrency
import HostedStoreAPI
import HostedFileServer

/// The phases of a server.
enum ServerPhase: Comparable {
  case running
  /// Streams end, and other responses are completed.
  case draining
  /// No connection may be suspended.
  case closed
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
    var progress = Progress.waiting
  }

  private enum Progress {
    case waiting
    /// The response is not sent yet.
    case answered(HTTPResponse<APIBody>)
    /// The stream is being sent; `isReady` if it became ready after the last call of `next`.
    case streaming(any ResponseStream, isReady: Bool)
    /// Nothing more is needed: the response was taken, the stream or the request has ended.
    case done

    /// The stream that has not ended.
    var stream: (any ResponseStream)? {
      switch self {
      case .streaming(let stream, _): stream
      case .answered(let response): response.body.stream
      case .waiting, .done: nil
      }
    }
  }

  init(_ connection: HTTPConnection) { self.connection = connection }

  /// Ends streams while the server drains, and all waits when it closes.
  func enter(_ phase: ServerPhase) {
    state.use { state in
      state.phase = max(state.phase, phase)
      let isStreaming = if case .streaming = state.progress { true } else { false }
      if phase == .closed || phase == .draining && isStreaming { resume(&state) }
    }
  }

  /// Takes the response from any thread.
  ///
  /// Ignores further ones, and one after the end.
  func respond(_ response: HTTPResponse<APIBody>) {
    let isFirst = state.use { state in
      guard case .waiting = state.progress else { return false }
      state.progress = .answered(response)
      resume(&state)
      return true
    }
    if !isFirst { response.body.stream?.cancel() }
  }

  private func becomeReady() {
    state.use { state in
      guard case .streaming(let stream, _) = state.progress else { return }
      state.progress = .streaming(stream, isReady: true)
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
      suspend(&state)
      return true
    }
  }

  private func suspend(_ state: inout State) {
    state.isSuspended = true
    connection.suspend()
  }

  /// Returns the response, to send it; nil if the server closes.
  func takeResponse() -> HTTPResponse<APIBody>? {
    state.use { state in
      guard case .answered(let response) = state.progress else { return nil }
      if let stream = response.body.stream {
        state.progress = .streaming(stream, isReady: false)
      } else {
        state.progress = .done
      }
      return response
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
        state.use { $0.progress = .done }
      }
    }
    return HTTPBody.end
  }

  private func nextStream() -> (any ResponseStream)? {
    state.use { state in
      guard case .streaming(let stream, _) = state.progress, state.phase == .running else {
        return nil
      }
      state.progress = .streaming(stream, isReady: false)
      return stream
    }
  }

  /// `onReady` may have been called before the stream returned `wait`.
  private func suspendUnlessReady() -> Bool {
    state.use { state in
      guard case .streaming(_, isReady: false) = state.progress, state.phase == .running else {
        return false
      }
      suspend(&state)
      return true
    }
  }

  /// The response was sent, or the connection has ended.
  func end() {
    let unfinished = state.use { state in
      defer { state.progress = .done }
      return state.progress.stream
    }
    unfinished?.cancel()
  }
}

extension APIBody {
  fileprivate var stream: (any ResponseStream)? {
    if case .stream(let stream) = self { stream } else { nil }
  }
}
