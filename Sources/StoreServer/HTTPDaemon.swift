import CMicroHTTPD
import ContentModel
import FileIO
import Glibc

/// libmicrohttpd with a thread a connection, which is handed connections and asks for answers.
// Sendable because the pointer is set once, in the initialiser, and libmicrohttpd's functions that
// take it may be called from any thread.
final class HTTPDaemon: @unchecked Sendable {
  private let answering: Answering
  private var daemon: OpaquePointer?

  private static let stackBytes = 512 << 10

  /// Starts it; with a certificate it speaks HTTPS.
  init(
    _ answering: Answering, _ configuration: StoreServer.Configuration, _ certificate: Certificate?
  )
    throws
  {
    self.answering = answering
    let pem = try certificate.map { (try Self.text($0.chain), try Self.text($0.key)) }
    daemon = hc_http_start(
      Unmanaged.passUnretained(self).toOpaque(), Self.answer, Self.begin, Self.complete,
      UInt32(clamping: configuration.connectionLimit), UInt32(clamping: configuration.idleSeconds),
      Self.stackBytes, pem?.0, pem?.1)
    guard daemon != nil else {
      throw certificate.map(Self.unusable)
        ?? ContentError(
          .cannotListen, "The HTTP server does not start", remedy: "Try again with fewer programs",
          cause: String(cString: strerror(errno)))
    }
  }

  deinit { stop() }

  /// Takes over a connected socket, which it closes.
  func add(_ descriptor: Int32) {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    withUnsafeMutablePointer(to: &address) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = getpeername(descriptor, address, &length)
        _ = MHD_add_connection(daemon, descriptor, address, length)
      }
    }
  }

  /// Closes all connections and waits for their threads; not to be called by two threads at once.
  func stop() {
    if let daemon { MHD_stop_daemon(daemon) }
    daemon = nil
  }

  private static func text(_ path: String) throws -> String {
    let bytes = try FileSystem.real.file(at: path).contents(limit: 1 << 20)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func unusable(_ certificate: Certificate) -> ContentError {
    ContentError(
      .usage, "\(certificate.chain) and \(certificate.key) are no certificate and its key",
      remedy: "Give two PEM files that belong together", subject: certificate.chain)
  }

  // MARK: Callbacks

  /// The target as it was sent, before libmicrohttpd decodes it, begins an exchange.
  private static let begin: hc_http_target_callback = { _, target, _ in
    guard let target else { return nil }
    return Unmanaged.passRetained(Exchange(String(cString: target))).toOpaque()
  }

  private static let answer: MHD_AccessHandlerCallback = {
    context, connection, _, method, _, _, uploaded, exchange in
    guard let context, let connection, let method, let uploaded, let exchange = exchange?.pointee
    else { return .NO }
    let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
    let known = Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue()
    return daemon.answering.proceed(
      known, String(cString: method), HTTPConnection(connection), &uploaded.pointee)
      ? .YES : .NO
  }

  private static let complete: MHD_RequestCompletedCallback = { context, _, exchange, _ in
    guard let context, let opaque = exchange?.pointee else { return }
    exchange?.pointee = nil
    let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
    daemon.answering.finish(Unmanaged<Exchange>.fromOpaque(opaque).takeRetainedValue())
  }
}

/// A request on its way through libmicrohttpd; used by its connection's thread only.
final class Exchange {
  let target: String
  /// Whether the head has been seen; an answer before that would end the connection.
  var hasBegun = false
  /// Bytes of a request's body that were passed over.
  var uploaded = 0
  var entry: RequestLog.Entry?

  init(_ target: String) { self.target = target }
}
