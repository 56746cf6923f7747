import ContentModel
import StoreAPI
import StoreServer

/// A request and the state of its response.
final class IncomingRequest: HTTPExchange {
  let target: String
  private let dispatcher: RequestDispatcher
  private let start = ContinuousClock.now
  private var method = ""
  private var path = "-"
  /// What the handler gets.
  private(set) var head: ServerRequest?
  private var body: [UInt8] = []
  private(set) var hasHead = false
  private(set) var bodySize = 0
  /// Whether the connection closes after the response.
  var isLast = false
  var status: Int?
  /// Nil until the request is complete.
  var pending: PendingResponse?

  /// The maximum size of a discarded body, as a multiple of the limit.
  ///
  /// A chunked body that is too long is discarded, because libmicrohttpd cannot respond before its
  /// end.
  private static let discardedParts = 16

  init(_ target: String, _ dispatcher: RequestDispatcher) {
    self.target = target
    self.dispatcher = dispatcher
  }

  func proceed(
    method: String, version: String, _ connection: HTTPConnection, _ part: UnsafeRawBufferPointer
  ) -> Bool {
    dispatcher.proceed(self, connection, method, version, part)
  }

  func end() { dispatcher.complete(self) }

  func begin(_ head: RequestHead) {
    hasHead = true
    method = head.method
    let request = ServerRequest(
      method, target, headers: head.fields, allowsEscapedSlashes: true)
    if let location = request.location { path = location.path.printable(limit: 200) }
    self.head = request
    // A proxy may interpret the end of a chunked body in another way than this server.
    isLast = head.isChunked
  }

  var isHead: Bool { method == "HEAD" }

  /// Whether the target of a request that was not taken is valid.
  var hasLocation: Bool { head?.location != nil }

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
    defer { (head, body) = (nil, []) }
    return head.map { APIRequest($0, body: body) }
  }

  var handled: HandledRequest {
    HandledRequest(
      method: method.printable(limit: 20), path: path, status: status,
      duration: ContinuousClock.now - start)
  }
}
