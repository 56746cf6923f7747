import HostedHTTPValues
import HostedConcurrency
import HostedModel
import Dispatch
import HostedStoreAPI
import HostedFileServer

/// What the requests of a server share: the handler, its threads, and the pending responses.
///
/// Thread-safe.
final class RequestDispatcher: Sendable {
  let connections: ConnectionTable
  let configuration: StoreServer.Configuration
  let handle: StoreServer.Handler
  let workers: CallThreads
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
  static let headLimit = 7 << 10
  /// The time for responses after `onStopTimeout`.
  private static let lastTimeout: Duration = .seconds(5)

  init(
    _ configuration: StoreServer.Configuration, _ connections: ConnectionTable,
    _ handle: @escaping StoreServer.Handler
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
      _ = unfinished.wait(timeout: .now() + Self.lastTimeout.inSeconds)
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

  /// Adds the response of a complete request; returns false if the server closes.
  func add(_ pending: PendingResponse) -> Bool {
    let phase = state.withLock { state in
      guard state.phase != .closed else { return ServerPhase.closed }
      unfinished.enter()
      state.pendingResponses[ObjectIdentifier(pending)] = pending
      return state.phase
    }
    pending.enter(phase)
    return phase != .closed
  }

  /// Removes a response that was sent, or whose connection has ended.
  func remove(_ pending: PendingResponse) {
    pending.end()
    _ = state.withLock { $0.pendingResponses.removeValue(forKey: ObjectIdentifier(pending)) }
    unfinished.leave()
  }

  var isStopping: Bool { state.withLock { $0.phase } != .running }

  /// The complete response to a request that libmicrohttpd refuses with `status`.
  static func refusal(_ status: Int) -> [UInt8] {
    let response = HTTPResponse(HTTPRefusal(unread: status))
    guard case .bytes(let body) = response.body else { return [] }
    var head = response.head
    head.headers.append(HTTPHeader("Content-Length", "\(body.count)"))
    return Array("\(head.lastLines)\r\n".utf8) + body
  }
}

extension HTTPRefusal {
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

extension HTTPResponse<APIBody> {
  /// Creates the problem details for a refused request.
  init(_ refusal: HTTPRefusal) {
    self = Problem.refused(refusal.status, refusal.reason, remedy: "Correct the request").response
  }
}
