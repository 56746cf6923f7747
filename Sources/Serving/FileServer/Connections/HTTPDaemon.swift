package import HostedHTTPValues
import HostedCMicroHTTPD
import HostedModel
import HostedFileIO
import Glibc

/// A request and its response, from the end of the head; only used by the thread of its connection.
///
/// A result false closes the connection.
package protocol HTTPExchange: AnyObject {
  /// The head has arrived. A response that is sent now is the last one of the connection.
  func receiveHead(_ connection: HTTPConnection) -> Bool
  func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool
  /// The end of the request has arrived, or its connection was resumed.
  func respond(_ connection: HTTPConnection) -> Bool
  /// The response was sent, or the connection has ended.
  func end()
}

/// A daemon of libmicrohttpd.
// Sendable, because the pointers are only set in the initializer and by `stop`, and the
// libmicrohttpd functions that take them are thread-safe.
package final class HTTPDaemon: @unchecked Sendable {
  private let connections: ConnectionTable
  private let begin: Begin
  private let refusal: Refusal?
  private let allowsEscapedSlashes: Bool
  private let callbacks: UnsafeMutablePointer<hc_http_callbacks>
  private var daemon: OpaquePointer?

  /// The threads of a daemon.
  package enum Threads {
    /// One for each connection; with a certificate, it serves HTTPS.
    case perConnection(Certificate?)
    /// One for all connections, which can be suspended.
    ///
    /// Each connection has `memory` bytes for its head and buffers.
    case single(memory: Int, Refusal)
  }

  /// Returns the complete response to a request that libmicrohttpd refuses with a status.
  package typealias Refusal = @Sendable (_ status: Int) -> [UInt8]

  /// Creates an exchange for a request without its body, whose first line arrived at `start`.
  ///
  /// An ambiguous or malformed request has a `refusal`.
  package typealias Begin =
    @Sendable (_ request: HTTPRequest, _ refusal: HTTPRefusal?, _ start: ContinuousClock.Instant)
    -> any HTTPExchange

  private static let stackBytes = 512 << 10

  /// Starts the daemon; `begin` is called for each request.
  package init(
    _ threads: Threads, _ connections: ConnectionTable, allowsEscapedSlashes: Bool = false,
    begin: @escaping Begin
  ) throws {
    self.connections = connections
    self.allowsEscapedSlashes = allowsEscapedSlashes
    self.begin = begin
    refusal = if case .single(_, let refusal) = threads { refusal } else { nil }
    callbacks = .allocate(capacity: 1)
    callbacks.initialize(to: Self.callbacks(Unmanaged.passUnretained(self).toOpaque()))
    let idleSeconds = UInt32(clamping: connections.limits.idleSeconds)
    switch threads {
    case .single(let memory, _):
      callbacks.pointee.refuse = { context, descriptor, status in
        guard let context, let refusal = HTTPDaemon.at(context).refusal else { return }
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        _ = refusal(Int(status)).withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
        }
      }
      daemon = hc_http_start_single(callbacks, idleSeconds, memory)
    case .perConnection(let certificate):
      let pem = try certificate.map { (try Self.text($0.chain), try Self.text($0.key)) }
      daemon = hc_http_start(callbacks, idleSeconds, Self.stackBytes, pem?.0, pem?.1)
      if daemon == nil, let certificate {
        throw ContentError(
          .usage, "\(certificate.chain) and \(certificate.key) are not a certificate and its key",
          remedy: "Use two PEM files that belong together", subject: certificate.chain)
      }
    }
    guard daemon != nil else {
      throw ContentError(
        .cannotListen, "Cannot start the HTTP server", remedy: "Stop other programs and try again",
        cause: String(cString: strerror(errno)))
    }
  }

  deinit {
    stop()
    callbacks.deallocate()
  }

  /// Takes ownership of a connected socket.
  ///
  /// Closes it at once if there are too many connections.
  package func add(_ descriptor: Int32) {
    guard connections.add(descriptor) else {
      close(descriptor)
      return
    }
    if hc_http_add(daemon, descriptor) == 0 { connections.remove(descriptor) }
  }

  /// Closes all connections and waits for their threads; no connection may be suspended.
  ///
  /// Two threads must not call it concurrently.
  package func stop() {
    if let daemon { hc_http_stop(daemon) }
    daemon = nil
  }

  private static func text(_ path: String) throws -> String {
    let bytes = try FileSystem.real.file(at: path).contents(limit: 1 << 20)
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Callbacks

  /// A request for libmicrohttpd.
  private final class Request {
    /// The raw target, before libmicrohttpd decodes it.
    let target: String
    let start = ContinuousClock.now
    /// Nil until the head has arrived.
    var exchange: (any HTTPExchange)?

    init(_ target: String) { self.target = target }
  }

  private static func at(_ context: UnsafeMutableRawPointer) -> HTTPDaemon {
    Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
  }

  private static func callbacks(_ context: UnsafeMutableRawPointer) -> hc_http_callbacks {
    hc_http_callbacks(
      context: context,
      begin: { _, target in
        guard let target else { return nil }
        return Unmanaged.passRetained(Request(String(cString: target))).toOpaque()
      },
      proceed: { context, request, connection, method, version, upload, uploaded in
        guard let context, let request, let connection, let method, let version, let uploaded
        else { return 0 }
        let part = UnsafeRawBufferPointer(start: upload, count: uploaded.pointee)
        uploaded.pointee = 0
        let continues = HTTPDaemon.at(context).proceed(
          Unmanaged<Request>.fromOpaque(request).takeUnretainedValue(),
          HTTPConnection(connection), method, version, part)
        return continues ? 1 : 0
      },
      complete: { context, request, connection in
        guard let context, let request, let connection else { return }
        HTTPDaemon.at(context).connections.endAnswer(HTTPConnection(connection).descriptor)
        Unmanaged<Request>.fromOpaque(request).takeRetainedValue().exchange?.end()
      },
      closed: { context, descriptor in
        guard let context else { return }
        let daemon = HTTPDaemon.at(context)
        daemon.connections.remove(descriptor)
        if daemon.refusal != nil { HTTPDaemon.discardUnread(descriptor) }
      },
      refuse: nil)
  }

  private func proceed(
    _ request: Request, _ connection: HTTPConnection, _ method: UnsafePointer<CChar>,
    _ version: UnsafePointer<CChar>, _ part: UnsafeRawBufferPointer
  ) -> Bool {
    guard let exchange = request.exchange else {
      let headers = connection.headers
      let received = HTTPRequest(
        String(cString: method), request.target, version: String(cString: version),
        headers: headers ?? [:], allowsEscapedSlashes: allowsEscapedSlashes)
      let refusal = headers == nil ? .malformedLine : received.refusal
      let exchange = begin(received, refusal, request.start)
      request.exchange = exchange
      return exchange.receiveHead(connection)
    }
    return part.isEmpty ? exchange.respond(connection) : exchange.receiveBody(part)
  }

  /// Discards what the client has sent: closing a connection with unread bytes resets it, and the
  /// client could lose a response.
  private static func discardUnread(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer in
      for _ in 0..<64 {
        guard recv(descriptor, buffer.baseAddress, buffer.count, 0) > 0 else { return }
      }
    }
  }
}

/// A certificate chain and its key, as paths of PEM files.
package struct Certificate: Hashable, Sendable {
  package let chain: String
  package let key: String

  /// Names the files; they are read when a server starts.
  package init(chain: String, key: String) {
    self.chain = chain
    self.key = key
  }
}
