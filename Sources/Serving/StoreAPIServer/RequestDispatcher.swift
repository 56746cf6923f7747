import Concurrency
import ContentModel
import Dispatch
import StoreAPI
import StoreServer

/// Passes the requests of a server to its handler, and sends the responses.
///
/// Thread-safe. `IncomingRequest` calls it on the thread of all connections.
final class RequestDispatcher: Sendable {
  private let connections: ConnectionTable
  private let configuration: APIServer.Configuration
  private let handle: APIServer.Handler
  private let workers: CallThreads
  private let state = Mutex(State())
  /// Has one entry for each pending response.
  private let unfinished = DispatchGroup()

  private struct State {
    var phase = ServerPhase.running
    var pendingResponses: [ObjectIdentifier: PendingResponse] = [:]
  }

  /// The memory of a connection for its head and buffers, so that many can wait for events.
  static let connectionBytes = 8 << 10
  /// The part of it that a request's head may use; the rest is for the head of the response.
  private static let headLimit = 7 << 10
  /// The time in seconds for responses after `onStopTimeout`.
  private static let lastTimeout = 5.0

  init(
    _ configuration: APIServer.Configuration, _ connections: ConnectionTable,
    _ handle: @escaping APIServer.Handler
  ) throws {
    self.configuration = configuration
    self.connections = connections
    self.handle = handle
    workers = try CallThreads(count: configuration.workers, maximumWaiting: .max)
  }

  /// Ends streams, waits for the responses of complete requests, and closes all connections.
  ///
  /// Call it once, after the last connection was added.
  func stop(_ daemon: HTTPDaemon) {
    enter(.draining)
    configuration.onStop?()
    let result = unfinished.wait(timeout: .now() + configuration.stopTimeout.inSeconds)
    if result == .timedOut, let end = configuration.onStopTimeout {
      end()
      _ = unfinished.wait(timeout: .now() + Self.lastTimeout)
    }
    // Afterwards, no connection is suspended, as libmicrohttpd requires.
    enter(.closed)
    daemon.stop()
    workers.close()
  }

  private func enter(_ phase: ServerPhase) {
    let pendingResponses = state.withLock { state in
      state.phase = phase
      return Array(state.pendingResponses.values)
    }
    pendingResponses.forEach { $0.enter(phase) }
  }

  // MARK: Requests, on the daemon's thread

  func receiveHead(_ request: IncomingRequest, _ connection: HTTPConnection) -> Bool {
    check(request).map { refuse(request, $0, connection) } ?? true
  }

  func receiveBody(_ request: IncomingRequest, _ part: UnsafeRawBufferPointer) -> Bool {
    request.append(part, limit: configuration.bodyLimit)
  }

  func respond(_ request: IncomingRequest, _ connection: HTTPConnection) -> Bool {
    if let pending = request.pending {
      guard let response = pending.takeResponse() else { return false }
      return send(response, to: request, connection)
    }
    if request.bodySize > configuration.bodyLimit { return refuse(request, tooLong, connection) }
    if let received = request.received, let response = configuration.respondAtOnce?(received) {
      return send(response, to: request, connection)
    }
    return handOver(request, connection)
  }

  private var tooLong: RequestHead.Refusal {
    RequestHead.Refusal(413, "The body is longer than \(configuration.bodyLimit) bytes.")
  }

  /// Returns why a request is refused before its body, or nil.
  private func check(_ request: IncomingRequest) -> RequestHead.Refusal? {
    let head = request.head
    if let refusal = head.refusal { return refusal }
    guard head.memory <= Self.headLimit else {
      return RequestHead.Refusal(431, "The target and the header fields are too long.")
    }
    guard request.received?.location != nil else { return .malformedTarget }
    let length = head.values(of: "content-length").first.map { Int($0) ?? .max } ?? 0
    return length > configuration.bodyLimit ? tooLong : nil
  }

  /// Responds to a bad request and closes the connection, because the next request may be hidden in
  /// this one.
  private func refuse(
    _ request: IncomingRequest, _ refusal: RequestHead.Refusal, _ connection: HTTPConnection
  ) -> Bool {
    request.isLast = true
    return send(APIResponse(refusal), to: request, connection)
  }

  /// Passes a complete request to the handler, and suspends its connection until the response.
  private func handOver(_ request: IncomingRequest, _ connection: HTTPConnection) -> Bool {
    let pending = PendingResponse(connection)
    let phase = state.withLock { state in
      guard state.phase != .closed else { return ServerPhase.closed }
      unfinished.enter()
      state.pendingResponses[ObjectIdentifier(pending)] = pending
      return state.phase
    }
    guard phase != .closed else { return false }
    request.pending = pending
    pending.enter(phase)
    connections.beginAnswer(connection.descriptor)
    guard let received = request.take(), pending.suspend() else { return false }
    _ = workers.run { [handle] in handle(received) { pending.respond($0) } }
    return true
  }

  private func send(
    _ response: APIResponse, to request: IncomingRequest, _ connection: HTTPConnection
  ) -> Bool {
    let isStream = if case .stream = response.body { true } else { false }
    connections.beginAnswer(
      connection.descriptor, within: isStream ? nil : configuration.responseTimeout)
    request.status = response.status
    if state.withLock({ $0.phase }) != .running { request.isLast = true }
    var headers = response.headers
    if request.isLast { headers.append(("Connection", "close")) }
    return connection.send(response.status, headers, body(of: response, to: request))
  }

  /// The buffer of a stream for HTTP/1.0; HTTP/1.1 uses the memory of the connection.
  private static let streamBuffer = 1 << 10

  private func body(of response: APIResponse, to request: IncomingRequest) -> HTTPBody {
    switch response.body {
    case .bytes(let bytes): .bytes(bytes)
    // After the head of a chunked response to HEAD, libmicrohttpd 0.9.75 sends the last chunk.
    case .stream where request.isHead: .empty
    case .stream:
      .stream(length: nil, bufferSize: Self.streamBuffer) { [pending = request.pending] in
        pending?.fill($0) ?? HTTPBody.failure
      }
    }
  }

  func complete(_ request: IncomingRequest) {
    if let pending = request.pending {
      pending.end()
      _ = state.withLock { $0.pendingResponses.removeValue(forKey: ObjectIdentifier(pending)) }
      unfinished.leave()
    }
    guard let onRequest = configuration.onRequest else { return }
    let handled = request.handled
    _ = workers.run { onRequest(handled) }
  }

  /// The complete response to a request that libmicrohttpd refuses with `status`.
  static func refusal(_ status: Int) -> [UInt8] {
    let response = APIResponse(RequestHead.Refusal(unread: status))
    guard case .bytes(let body) = response.body else { return [] }
    let head = HTTPStatus.lastHead(
      status, response.headers + [("Content-Length", "\(body.count)")])
    return Array("\(head)\r\n".utf8) + body
  }
}

extension RequestHead {
  /// The approximate memory that libmicrohttpd needs for the head, and for a response that repeats
  /// the target, such as in `Link`.
  fileprivate var memory: Int {
    fields.reduce(2 * target.utf8.count) {
      $0 + $1.name.utf8.count + $1.value.utf8.count + 64
    }
  }
}

extension RequestHead.Refusal {
  /// Why libmicrohttpd refuses a request with this status before its head is read.
  fileprivate init(unread status: Int) {
    let reason =
      switch status {
      case 413: "The body is too long."
      case 414: "The request target is too long."
      case 431: "The header fields are too long."
      case 505: "The server supports only HTTP/1.0 and HTTP/1.1."
      case 500...: "The request does not fit into the memory of its connection."
      default: "The request is not valid HTTP."
      }
    self.init(status, reason)
  }
}

extension APIResponse {
  /// Creates the problem details for a refused request.
  fileprivate init(_ refusal: RequestHead.Refusal) {
    self = Problem.refused(refusal.status, refusal.reason, remedy: "Correct the request").response
  }
}
