import CMicroHTTPD
package import ContentModel
import FileIO
import Glibc

/// A daemon of libmicrohttpd with one thread per connection.
// Sendable, because the pointers are only set in the initializer, and the libmicrohttpd functions
// that take them are thread-safe.
final class HTTPDaemon: @unchecked Sendable {
  private let handler: RequestHandler
  private let connections: ConnectionTable
  private let callbacks: UnsafeMutablePointer<hc_http_callbacks>
  private var daemon: OpaquePointer?

  private static let stackBytes = 512 << 10

  /// Starts the daemon; with a certificate, it serves HTTPS.
  init(
    _ handler: RequestHandler, _ connections: ConnectionTable, idleSeconds: Int,
    _ certificate: Certificate?
  ) throws {
    self.handler = handler
    self.connections = connections
    callbacks = .allocate(capacity: 1)
    callbacks.initialize(to: Self.callbacks(Unmanaged.passUnretained(self).toOpaque()))
    let pem = try certificate.map { (try Self.text($0.chain), try Self.text($0.key)) }
    daemon = hc_http_start(
      callbacks, UInt32(clamping: idleSeconds), Self.stackBytes, pem?.0, pem?.1)
    guard daemon != nil else {
      throw certificate.map(Self.unusable) ?? ContentError.httpServerNotStarted(errno)
    }
  }

  deinit {
    stop()
    callbacks.deallocate()
  }

  /// Takes ownership of a connected socket.
  ///
  /// Closes it at once if there are too many connections.
  func add(_ descriptor: Int32) { connections.pass(descriptor, to: daemon) }

  /// Closes all connections and waits for their threads; two threads must not call it concurrently.
  func stop() {
    if let daemon { hc_http_stop(daemon) }
    daemon = nil
  }

  private static func text(_ path: String) throws -> String {
    let bytes = try FileSystem.real.file(at: path).contents(limit: 1 << 20)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func unusable(_ certificate: Certificate) -> ContentError {
    ContentError(
      .usage, "\(certificate.chain) and \(certificate.key) are not a certificate and its key",
      remedy: "Use two PEM files that belong together", subject: certificate.chain)
  }

  // MARK: Callbacks

  private static func callbacks(_ context: UnsafeMutableRawPointer) -> hc_http_callbacks {
    hc_http_callbacks(
      context: context,
      // The state begins with the raw target, before libmicrohttpd decodes it.
      begin: { _, target in
        guard let target else { return nil }
        return Unmanaged.passRetained(RequestState(String(cString: target))).toOpaque()
      },
      proceed: { context, state, connection, method, version, _, uploaded in
        guard let context, let state, let connection, let method, let version, let uploaded
        else { return 0 }
        let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
        let continues = daemon.handler.proceed(
          Unmanaged<RequestState>.fromOpaque(state).takeUnretainedValue(), String(cString: method),
          String(cString: version), HTTPConnection(connection), &uploaded.pointee)
        return continues ? 1 : 0
      },
      complete: { context, state, connection in
        guard let context, let state, let connection else { return }
        let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
        daemon.connections.endAnswer(HTTPConnection(connection).descriptor)
        daemon.handler.finish(Unmanaged<RequestState>.fromOpaque(state).takeRetainedValue())
      },
      closed: { context, descriptor in
        guard let context else { return }
        let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
        daemon.connections.remove(descriptor)
      },
      refuse: nil)
  }
}

extension ContentError {
  /// `number` is the errno of libmicrohttpd.
  package static func httpServerNotStarted(_ number: Int32) -> ContentError {
    ContentError(
      .cannotListen, "Cannot start the HTTP server", remedy: "Stop other programs and try again",
      cause: String(cString: strerror(number)))
  }
}

/// The state of a request in libmicrohttpd; only used by its connection's thread.
final class RequestState {
  let target: String
  /// Nil until the head is complete.
  ///
  /// If the request has a body, the response is sent after it, because otherwise the connection
  /// would close before the client has read the response.
  var request: ServerRequest?
  /// Whether the connection closes after the response.
  var isLast = false
  /// The number of ignored bytes of the request's body.
  var uploaded = 0
  var entry: RequestLog.Entry?

  init(_ target: String) { self.target = target }
}
