import CMicroHTTPD
import ContentModel
import StoreAPI
import StoreServer

/// A request that libmicrohttpd receives and responds to.
///
/// Only used by the daemon's thread.
final class IncomingRequest {
  let target: String
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

  init(_ target: String) { self.target = target }

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

/// A connection of libmicrohttpd that can be suspended.
// Sendable, because other threads only resume it, while it is suspended.
struct SuspendableConnection: @unchecked Sendable {
  private let pointer: OpaquePointer

  /// The buffer of a stream for HTTP/1.0; HTTP/1.1 uses the memory of the connection.
  private static let streamBuffer = 1 << 10

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  func suspend() { hc_http_suspend(pointer) }

  func resume() { hc_http_resume(pointer) }

  // MARK: On the daemon's thread

  var descriptor: Int32 { HTTPConnection(pointer).descriptor }

  /// The header fields of the request; nil if one is malformed.
  var headers: [(name: String, value: String)]? { HTTPConnection(pointer).headers }

  /// Queues a response.
  ///
  /// Returns false if that fails.
  func send(_ response: APIResponse, to request: IncomingRequest) -> Bool {
    guard let queued = Self.queued(response.body, request) else { return false }
    for header in response.headers {
      hc_http_response_add_header(queued, header.name, header.value)
    }
    if request.isLast { hc_http_response_add_header(queued, "Connection", "close") }
    return hc_http_send(pointer, UInt32(clamping: response.status), queued) != 0
  }

  private static func queued(
    _ body: APIResponse.Body, _ request: IncomingRequest
  ) -> OpaquePointer? {
    switch body {
    case .bytes(let bytes):
      return bytes.withUnsafeBytes { hc_http_response_bytes($0.baseAddress, $0.count) }
    // After the head of a chunked response to HEAD, libmicrohttpd 0.9.75 sends the last chunk.
    case .stream where request.isHead: return hc_http_response_empty()
    case .stream:
      guard let pending = request.pending else { return nil }
      // The response owns this object and releases it in its last callback.
      return hc_http_response_stream(
        .max, streamBuffer, Unmanaged.passRetained(pending).toOpaque(),
        { context, buffer, count in
          guard let context, let buffer else { return -1 }
          return Unmanaged<PendingResponse>.fromOpaque(context).takeUnretainedValue()
            .fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
        },
        { context in
          if let context { Unmanaged<PendingResponse>.fromOpaque(context).release() }
        })
    }
  }
}
