import HostedHTTPValues
import HostedConcurrency
import HostedModel
import HostedStoreAPI
import HostedFileServer

/// A request and the state of its response.
final class APIExchange: HTTPExchange {
  private let method: String
  private let start: ContinuousClock.Instant
  private let dispatcher: RequestDispatcher
  private let path: String
  /// Why the request is refused before its body, or nil.
  private let refusal: HTTPRefusal?
  /// What the handler gets; nil after it was taken.
  private var received: HTTPRequest?
  private var bodySize = 0
  /// Whether the connection closes after the response.
  private var isLast: Bool
  private var status: Int?
  /// Nil until the request is complete.
  private var pending: PendingResponse?

  /// The maximum size of a discarded body, as a multiple of the limit.
  ///
  /// A chunked body that is too long is discarded, because libmicrohttpd cannot respond before its
  /// end.
  private static let discardedParts = 16
  /// The buffer of a stream for HTTP/1.0; HTTP/1.1 uses the memory of the connection.
  private static let streamBuffer = 1 << 10

  init(
    _ request: HTTPRequest, _ refusal: HTTPRefusal?, _ start: ContinuousClock.Instant,
    _ dispatcher: RequestDispatcher
  ) {
    method = request.method
    self.start = start
    self.dispatcher = dispatcher
    received = request
    let bodyLimit = dispatcher.configuration.bodyLimit
    self.refusal = refusal ?? Self.refusal(of: request, bodyLimit: bodyLimit)
    path = request.location.map { $0.path.printable(limit: 200) } ?? "-"
    // A proxy may interpret the end of a chunked body in another way than this server.
    isLast = request.isChunked
  }

  private var bodyLimit: Int { dispatcher.configuration.bodyLimit }

  func receiveHead(_ connection: HTTPConnection) -> Bool {
    refusal.map { refuse($0, connection) } ?? true
  }

  private static func refusal(of request: HTTPRequest, bodyLimit: Int) -> HTTPRefusal? {
    guard request.memory <= RequestDispatcher.headLimit else {
      return HTTPRefusal(431, "The target and the header fields are too long.")
    }
    guard request.location != nil else { return .malformedTarget }
    let length = request.headers.values(of: "content-length").first.map { Int($0) ?? .max } ?? 0
    return length > bodyLimit ? tooLong(bodyLimit) : nil
  }

  private static func tooLong(_ bodyLimit: Int) -> HTTPRefusal {
    HTTPRefusal(413, "The body is longer than \(bodyLimit) bytes.")
  }

  /// Responds to a bad request and closes the connection, because the next request may be hidden in
  /// this one.
  private func refuse(_ refusal: HTTPRefusal, _ connection: HTTPConnection) -> Bool {
    isLast = true
    return send(HTTPResponse(refusal), connection)
  }

  func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
    bodySize += part.count
    if bodySize <= bodyLimit {
      received?.body.append(contentsOf: part)
    } else {
      received?.body = []
    }
    return bodySize <= bodyLimit * Self.discardedParts
  }

  func respond(_ connection: HTTPConnection) -> Bool {
    if let pending {
      guard let response = pending.takeResponse() else { return false }
      return send(response, connection)
    }
    if bodySize > bodyLimit { return refuse(Self.tooLong(bodyLimit), connection) }
    guard let received else { return false }
    if let response = dispatcher.configuration.respondAtOnce?(received) {
      return send(response, connection)
    }
    return handOver(received, connection)
  }

  /// Passes the complete request to the handler, and suspends its connection until the response.
  private func handOver(_ request: HTTPRequest, _ connection: HTTPConnection) -> Bool {
    let pending = PendingResponse(connection)
    guard dispatcher.add(pending) else { return false }
    self.pending = pending
    // Not kept: a stream may stay open for days.
    received = nil
    dispatcher.connections.beginAnswer(connection.descriptor)
    guard pending.suspend() else { return false }
    _ = dispatcher.workers.run { [handle = dispatcher.handle] in
      handle(request) { pending.respond($0) }
    }
    return true
  }

  private func send(_ response: HTTPResponse<APIBody>, _ connection: HTTPConnection) -> Bool {
    let isStream = if case .stream = response.body { true } else { false }
    dispatcher.connections.beginAnswer(
      connection.descriptor,
      within: isStream ? nil : dispatcher.configuration.responseTimeout)
    status = response.status
    var head = response.head
    if isLast || dispatcher.isStopping { head.headers.append(HTTPHeader("Connection", "close")) }
    return connection.send(head, body(of: response))
  }

  private func body(of response: HTTPResponse<APIBody>) -> HTTPBody {
    switch response.body {
    case .bytes(let bytes): .bytes(bytes)
    // After the head of a chunked response to HEAD, libmicrohttpd 0.9.75 sends the last chunk.
    case .stream where method == "HEAD": .bytes([])
    case .stream:
      .stream(length: nil, bufferSize: Self.streamBuffer) { [pending] in
        pending?.fill($0) ?? HTTPBody.failure
      }
    }
  }

  func end() {
    if let pending { dispatcher.remove(pending) }
    guard let onRequest = dispatcher.configuration.onRequest else { return }
    let handled = HandledRequest(
      method: method.printable(limit: 20), path: path, status: status,
      duration: ContinuousClock.now - start)
    _ = dispatcher.workers.run { onRequest(handled) }
  }
}

extension HTTPRequest {
  /// The approximate memory that libmicrohttpd needs for the head, and for a response that repeats
  /// the target, such as in `Link`.
  fileprivate var memory: Int {
    headers.fields.reduce(2 * target.utf8.count) {
      $0 + $1.name.utf8.count + $1.value.utf8.count + 64
    }
  }
}
