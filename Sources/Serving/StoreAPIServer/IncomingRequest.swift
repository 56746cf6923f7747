import ContentModel
import StoreAPI
import StoreServer

/// A request and the state of its response.
final class IncomingRequest: HTTPExchange {
  let head: RequestHead
  private let start: ContinuousClock.Instant
  private let dispatcher: RequestDispatcher
  private let path: String
  /// What the handler gets; nil after it was taken.
  private(set) var received: ServerRequest?
  private var body: [UInt8] = []
  private(set) var bodySize = 0
  /// Whether the connection closes after the response.
  var isLast: Bool
  var status: Int?
  /// Nil until the request is complete.
  var pending: PendingResponse?

  /// The maximum size of a discarded body, as a multiple of the limit.
  ///
  /// A chunked body that is too long is discarded, because libmicrohttpd cannot respond before its
  /// end.
  private static let discardedParts = 16

  init(_ head: RequestHead, _ start: ContinuousClock.Instant, _ dispatcher: RequestDispatcher) {
    self.head = head
    self.start = start
    self.dispatcher = dispatcher
    let request = ServerRequest(
      head.method, head.target, headers: head.fields, allowsEscapedSlashes: true)
    received = request
    path = request.location.map { $0.path.printable(limit: 200) } ?? "-"
    // A proxy may interpret the end of a chunked body in another way than this server.
    isLast = head.isChunked
  }

  func receiveHead(_ connection: HTTPConnection) -> Bool {
    dispatcher.receiveHead(self, connection)
  }

  func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool { dispatcher.receiveBody(self, part) }

  func respond(_ connection: HTTPConnection) -> Bool { dispatcher.respond(self, connection) }

  func end() { dispatcher.complete(self) }

  var isHead: Bool { head.method == "HEAD" }

  /// Adds a part of the body.
  ///
  /// Returns false if the body is much too long.
  func append(_ part: UnsafeRawBufferPointer, limit: Int) -> Bool {
    bodySize += part.count
    if bodySize <= limit { body.append(contentsOf: part) } else { body = [] }
    return bodySize <= limit * Self.discardedParts
  }

  /// Returns the request without keeping it: a stream may stay open for days.
  func take() -> APIRequest? {
    defer { (received, body) = (nil, []) }
    return received.map { APIRequest($0, body: body) }
  }

  var handled: HandledRequest {
    HandledRequest(
      method: head.method.printable(limit: 20), path: path, status: status,
      duration: ContinuousClock.now - start)
  }
}
