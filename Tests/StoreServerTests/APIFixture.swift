import HostedHTTPValues
import HostedStoreAPI
import HostedStoreServer
import HostedFileServer
import HostedTestSupport

/// A server on a free port.
final class APIFixture: Sendable {
  let server: StoreServer
  /// The requests whose responses have ended.
  let handled: Watched<[HandledRequest]>

  /// Starts a server; `change` adapts its configuration.
  init(
    _ change: (inout StoreServer.Configuration) -> Void = { _ in },
    handle: @escaping StoreServer.Handler = echo
  ) throws {
    let handled = Watched<[HandledRequest]>([])
    var configuration = StoreServer.Configuration()
    configuration.onRequest = { request in handled.change { $0.append(request) } }
    change(&configuration)
    self.handled = handled
    server = StoreServer(configuration, handle: handle)
    try server.start()
  }

  func client() throws -> APIClient { try APIClient(port: server.port, of: self) }

  /// Begins to stop the server on another thread.
  func beginStop() -> ThreadCall { ThreadCall { [server] in server.stop() } }
}

/// Responds with the request.
@Sendable func echo(
  _ request: HTTPRequest, _ respond: @escaping StoreAPI.Respond
) {
  let text = "\(request.method) \(request.path) "
  respond(
    HTTPResponse<APIBody>(
      200, headers: ["Content-Type": "text/plain"], Array(text.utf8) + request.body))
}

/// Requests that wait until the test responds.
final class WaitingRequests: Sendable {
  private let responders = Watched<[String: StoreAPI.Respond]>([:])

  var handler: StoreServer.Handler {
    { [responders] request, respond in
      responders.change { $0[request.path] = respond }
    }
  }

  /// Blocks until `count` requests wait.
  func block(until count: Int) { responders.block { $0.count == count } }

  func respond(to path: String, _ text: String) {
    respond(to: path, HTTPResponse<APIBody>(200, Array(text.utf8)))
  }

  func respond(to path: String, _ response: HTTPResponse<APIBody>) {
    responders.value[path]?(response)
  }

  func respondToAll(_ text: String) {
    for path in responders.value.keys.sorted() { respond(to: path, text) }
  }
}

/// A stream of what a test adds.
final class AddedStream: ResponseStream {
  struct State {
    var bytes: [UInt8] = []
    var isOver = false
    var isCancelled = false
    var onReady: (@Sendable () -> Void)?
  }

  let state = Watched(State())

  var response: HTTPResponse<APIBody> {
    HTTPResponse(200, headers: ["Content-Type": "text/event-stream"], body: .stream(self))
  }

  var handler: StoreServer.Handler { { _, respond in respond(self.response) } }

  func next(_ limit: Int, onReady: @escaping @Sendable () -> Void) -> ResponsePart {
    state.change { state in
      let part = Array(state.bytes.prefix(limit))
      state.bytes.removeFirst(part.count)
      if !part.isEmpty { return .bytes(part) }
      if state.isOver { return .end }
      state.onReady = onReady
      return .wait
    }
  }

  func cancel() {
    state.change { state in
      state.isCancelled = true
      state.onReady = nil
    }
  }

  func add(_ bytes: some Sequence<UInt8>, isLast: Bool = false) {
    let bytes = Array(bytes)
    let onReady = state.change { state in
      defer { state.onReady = nil }
      state.bytes += bytes
      state.isOver = isLast
      return state.onReady
    }
    onReady?()
  }
}
