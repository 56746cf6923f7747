import AppUpdate
import Glibc
import HostedConcurrency
import HostedFileIO
package import HostedHTTPValues
package import HostedModel

/// Serves a folder's files over HTTP or HTTPS, optionally with scripted faults.
///
/// Thread-safe. Each connection has a thread, which calls routes and `onRequest`.
package final class FileServer: Sendable {
  private let folder: Directory
  private let configuration: Configuration
  private let book: FaultBook
  private let log: RequestLog?
  private let lifetime: ServerLifetime

  /// A response that replaces a file; only called for GET and HEAD.
  package typealias Route = @Sendable (HTTPRequest) -> HTTPResponse<ServedBody>

  /// The address, the limits and the additional routes of a server.
  package struct Configuration: Sendable {
    /// A name or an IP address of this machine.
    package var address = "127.0.0.1"
    /// Port 0 selects a free port.
    package var port: UInt16 = 0
    /// The certificate for HTTPS; nil for HTTP.
    package var certificate: Certificate?
    /// A pause before every response.
    package var latency: Duration = .zero
    /// The maximum rate of all bodies together, in bytes per second; nil is unlimited.
    package var rate: Int64?
    /// Responses by decoded path, such as `/lookup`; they precede files.
    package var routes: [String: Route] = [:]
    /// Returns the status for a file that the client must not get, or nil to send the file.
    ///
    /// For tests of gated content.
    package var authorize: (@Sendable (HTTPRequest) -> Int?)?
    package var recording = Recording.kept
    /// Called for each recorded request after its response has ended.
    package var onRequest: (@Sendable (ServedRequest) -> Void)?
    package var limits = ConnectionLimits(
      connections: 512, connectionsPerAddress: 128, limitsLoopback: true)

    package init() {}
  }

  /// What is recorded about requests.
  package enum Recording: Sendable {
    /// Nothing; the kernel sends files directly.
    case none
    /// Requests are counted and reported; files are copied through memory.
    case reported
    /// Requests are also kept for `requests`.
    case kept
  }

  /// Creates a server for the folder at `path`; throws `fileMissing` if it does not exist.
  package init(
    folder path: String, faults: FaultScript = .none,
    configuration: Configuration = Configuration()
  ) throws {
    folder = try FileSystem.real.directory(at: path)
    self.configuration = configuration
    book = FaultBook(.none)
    let recording = configuration.recording
    log =
      recording == .none
      ? nil : RequestLog(keeps: recording == .kept, observer: configuration.onRequest)
    lifetime = ServerLifetime { try HeldPort(configuration.address, configuration.port) }
    try setFaults(faults)
  }

  deinit { stop() }

  /// One that accepts connections, one that closes idle ones, and some for connections.
  private static let requiredThreads = 6

  /// Listens and responds until `stop`.
  ///
  /// Does nothing if the server already listens. Throws `tooFewThreads` if the system does not
  /// allow as many threads as the server needs.
  package func start() throws {
    try ThreadLimits.require(Self.requiredThreads, for: "A store server")
    MemoryArenas.limit()
    try lifetime.start { latch in
      let connections = ConnectionTable(configuration.limits)
      let daemons = Daemons(
        RequestContext(
          files: StaticFiles(folder), configuration: configuration, book: book, log: log,
          pacer: configuration.rate.map { SendPacer(bytesPerSecond: $0) },
          connections: connections, stop: latch))
      let main = try daemons.daemon(configuration.certificate)
      return (
        connections: connections,
        take: { [book] connection in
          guard let fault = book.connectionFault() else {
            main.add(connection)
            return .taken
          }
          return fault.meet(connection, daemons)
        }, stop: { daemons.stop() }
      )
    }
  }

  /// Closes all connections, even with responses in progress, and waits for their threads.
  ///
  /// Do not call it from a route or from `onRequest`. The server can be started again, and then has
  /// the same port.
  package func stop() { lifetime.stop() }

  /// The current or last port; 0 before the first start.
  package var port: UInt16 { lifetime.port?.number ?? 0 }

  /// The URL of the server, with a trailing slash; empty before the first start.
  package var url: String {
    lifetime.port?.url(scheme: configuration.certificate == nil ? "http" : "https") ?? ""
  }

  /// Replaces the fault script for new requests, and resets all counters.
  ///
  /// Throws `usage` for rules about TLS on a server without a certificate.
  package func setFaults(_ faults: FaultScript) throws {
    let tlsRule = faults.rules.first { $0.fault.isOfConnection }
    if let rule = tlsRule, configuration.certificate == nil {
      throw ContentError(
        .usage, "“\(rule.text)” needs a server with a certificate",
        remedy: "Configure a certificate and its key, or remove the rule")
    }
    book.set(faults)
  }

  /// The requests since the start or `clearRequests`, in the order in which their responses began.
  ///
  /// A request is listed, with all its bytes counted, before its client has received the last byte.
  package var requests: [ServedRequest] { log?.requests ?? [] }

  package func clearRequests() { log?.clear() }
}

/// The HTTP daemons of one server: one for its own certificate, and one for each wrong one.
private final class Daemons: Sendable {
  private let context: RequestContext
  private let started = Mutex<[Certificate?: HTTPDaemon]>([:])

  init(_ context: RequestContext) { self.context = context }

  /// Returns the daemon with this certificate.
  ///
  /// It is started when it is first needed. Call it before the listener starts, then on its thread.
  func daemon(_ certificate: Certificate?) throws -> HTTPDaemon {
    if let daemon = started.withLock({ $0[certificate] }) { return daemon }
    let daemon = try HTTPDaemon(.perConnection(certificate), context.connections) {
      [context] request, refusal, _ in RequestHandler(request, refusal, context)
    }
    started.withLock { $0[certificate] = daemon }
    return daemon
  }

  func stop() { started.withLock { $0 }.values.forEach { $0.stop() } }
}

extension ConnectionFault {
  /// A TLS record with the fatal alert handshake_failure (RFC 8446, 6.2).
  private static let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 40]

  /// Applies the fault to a new connection.
  fileprivate func meet(_ connection: Int32, _ daemons: Daemons) -> Listener.Handling {
    switch self {
    case .close: return .ended
    case .stall: return .held
    case .refuse:
      send(connection, Self.alert, Self.alert.count, Int32(MSG_NOSIGNAL))
      return .ended
    case .certificate(let certificate):
      // An unusable certificate also ends in a failed handshake.
      guard let daemon = try? daemons.daemon(certificate) else { return .ended }
      daemon.add(connection)
      return .taken
    }
  }
}

extension FileServer.Configuration {
  /// Serves `/lookup`, `/search` and `/app-version` from `apps.json` in the folder at `path`.
  ///
  /// Reads the file now, and again after it has changed. Without the file, the paths return 404.
  /// The file itself is not served, because it may name accounts. Throws `storeDamaged` if the file
  /// is invalid now. If it becomes invalid later, `report` is called once for each change, and the
  /// last valid file is served. A change is detected by a request, or by a call of the returned
  /// function.
  @discardableResult
  package mutating func serveApps(
    ofFolder path: String, report: @escaping @Sendable (ContentError) -> Void = { _ in }
  ) throws -> @Sendable () -> Void {
    let file = AppCatalogFile(in: try FileSystem.real.directory(at: path), report: report)
    try file.open()
    for path in AppCatalog.paths { routes[path] = { HTTPResponse(to: $0, of: file) } }
    routes["/\(AppCatalogFile.name)"] = { _ in .notFound }
    // The error was already reported.
    return { _ = try? file.catalog() }
  }
}

extension HTTPResponse<ServedBody> {
  fileprivate init(to request: HTTPRequest, of file: AppCatalogFile) {
    let pairs = request.location?.query.map { ($0.name, $0.value) } ?? []
    do {
      let parameters = Dictionary(pairs) { first, _ in first }
      guard let answer = try file.answer(path: request.path, parameters: parameters) else {
        self = .notFound
        return
      }
      self.init(answer.status, contentType: "application/json", answer.body)
    } catch {
      // The details are for the owner, not for the public.
      self.init(500, text: "The server cannot read its app catalog.")
    }
  }
}
