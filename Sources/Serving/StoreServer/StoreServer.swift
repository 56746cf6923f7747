import ContentModel
package import FileIO
import Glibc
import Concurrency

/// A folder's files over HTTP or HTTPS, with what is to go wrong by script.
///
/// Methods may be called from any thread. Each connection has a thread of its own, in which routes
/// and `onRequest` are called.
package final class StoreServer: Sendable {
  private let folder: Directory
  private let configuration: Configuration
  private let book: FaultBook
  private let log: RequestLog?
  private let state = Mutex(State())

  private struct State {
    var faults: FaultScript = .none
    var running: RunningServer?
    /// Held since the first start, so that a server that comes back is where it was.
    var port: HeldPort?
  }

  /// What answers a path instead of a file; called with GET and HEAD only.
  package typealias Route = @Sendable (ServerRequest) -> Answer

  /// How a server listens and what it answers besides files.
  package struct Configuration: Sendable {
    /// A name or number of this machine.
    package var address = "127.0.0.1"
    /// 0 takes any port that is free.
    package var port: UInt16 = 0
    /// Makes it an HTTPS server.
    package var certificate: Certificate?
    /// A pause before every answer.
    package var latency: Duration = .zero
    /// Bytes a second that all bodies together may take; nil for no limit.
    package var rate: Int64?
    /// Answers by decoded path, such as `/lookup`; they go before files.
    package var routes: [String: Route] = [:]
    /// Whether requests are counted and told; costs that files go through memory.
    package var recordsRequests = true
    /// Whether they are kept for `requests`, too.
    package var keepsRequests = true
    /// Told of each request when its answer has come to its end.
    package var onRequest: (@Sendable (ServedRequest) -> Void)?
    /// Further connections than that many are closed at once.
    package var connectionLimit = 512
    /// Further connections from one address than that many are closed at once; 0 for no limit.
    ///
    /// An address of IPv6 counts with its whole network (/64).
    package var connectionsPerAddress = 128
    /// After that time without a complete request, head and body, a new connection is closed.
    package var requestTimeout: Duration = .seconds(10)
    /// After that many seconds without a byte, or without a complete request since the last answer,
    /// a connection is closed.
    package var idleSeconds = 60

    package init() {}
  }

  /// Makes a server of the folder at `path`; `fileMissing` when there is none.
  package init(
    folder path: String, faults: FaultScript = .none,
    configuration: Configuration = Configuration(), fileSystem: FileSystem = .real
  ) throws {
    folder = try fileSystem.directory(at: path)
    self.configuration = configuration
    book = FaultBook(.none)
    log =
      configuration.recordsRequests
      ? RequestLog(keeps: configuration.keepsRequests, observer: configuration.onRequest) : nil
    try setFaults(faults)
  }

  deinit { stop() }

  /// One that accepts connections, one that closes idle ones, and some of connections.
  private static let requiredThreads = 6

  /// Listens and answers until `stop`; nothing when it does already.
  ///
  /// Throws `tooFewThreads` if the system does not allow as many threads as the server needs.
  package func start() throws {
    try ThreadLimits.require(Self.requiredThreads, for: "A store server")
    MemoryArenas.limit()
    try state.withLock { state in
      guard state.running == nil else { return }
      let port = try state.port ?? HeldPort(configuration.address, configuration.port)
      state.running = try port.lend {
        try RunningServer(StaticFiles(folder), configuration, port: $0, book, log)
      }
      state.port = port
    }
  }

  /// Closes all connections, whatever is under way on them, and waits for their threads.
  ///
  /// Not to be called from a route or from `onRequest`. The server can be started again, and then
  /// has the port that it had.
  package func stop() {
    let running = state.withLock { state in
      defer { state.running = nil }
      return state.running
    }
    running?.stop()
  }

  /// The port that it listens at, or did last; 0 before the first start.
  package var port: UInt16 { state.withLock { $0.port?.number ?? 0 } }

  /// Its address as a URL that ends in a slash.
  package var url: String {
    let host = configuration.address
    let scheme = configuration.certificate == nil ? "http" : "https"
    return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)/"
  }

  /// Puts another script in force, for requests that come from now on, with all counts at zero.
  ///
  /// Throws `usage` for rules about TLS on a server without a certificate.
  package func setFaults(_ faults: FaultScript) throws {
    if let rule = faults.firstConnectionRule, configuration.certificate == nil {
      throw ContentError(
        .usage, "“\(rule.text)” needs a server with a certificate",
        remedy: "Give a certificate with its key, or leave the rule out")
    }
    book.set(faults)
  }

  /// The requests since the start or `clearRequests`, in the order in which their answers began.
  ///
  /// One is there, with all its bytes counted, before its client has the last of them.
  package var requests: [ServedRequest] { log?.requests ?? [] }

  /// Forgets all requests so far.
  package func clearRequests() { log?.clear() }
}

/// A server from its start to its stop.
private final class RunningServer: Sendable {
  private let listener: Listener
  private let daemons: Daemons
  private let latch: StopLatch

  init(
    _ files: StaticFiles, _ configuration: StoreServer.Configuration, port: UInt16,
    _ book: FaultBook, _ log: RequestLog?
  ) throws {
    let latch = try StopLatch()
    let connections = ConnectionTable(configuration)
    let daemons = Daemons(
      RequestHandler(files, configuration, book, log, connections, latch), connections,
      idleSeconds: configuration.idleSeconds)
    let main = try daemons.daemon(configuration.certificate)
    self.latch = latch
    self.daemons = daemons
    listener = try Listener(configuration.address, port: port, connections, latch) { connection in
      guard let fault = book.connectionFault() else {
        main.add(connection)
        return .taken
      }
      return fault.meet(connection, daemons)
    }
  }

  func stop() {
    latch.set()
    listener.join()
    daemons.stop()
  }
}

/// The HTTP daemons of one server: one for its own certificate, and one for each wrong one.
private final class Daemons: Sendable {
  private let handler: RequestHandler
  private let connections: ConnectionTable
  private let idleSeconds: Int
  private let started = Mutex<[Certificate?: HTTPDaemon]>([:])

  init(_ handler: RequestHandler, _ connections: ConnectionTable, idleSeconds: Int) {
    self.handler = handler
    self.connections = connections
    self.idleSeconds = idleSeconds
  }

  /// The daemon with that certificate, started when it is first needed.
  func daemon(_ certificate: Certificate?) throws -> HTTPDaemon {
    try started.withLock { started in
      if let daemon = started[certificate] { return daemon }
      let daemon = try HTTPDaemon(
        handler, connections, idleSeconds: idleSeconds, certificate)
      started[certificate] = daemon
      return daemon
    }
  }

  func stop() { started.withLock { $0 }.values.forEach { $0.stop() } }
}

extension ConnectionFault {
  /// A TLS record with the fatal alert handshake_failure (RFC 8446, 6.2).
  private static let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 40]

  /// Does to a new connection what the fault says.
  fileprivate func meet(_ connection: Int32, _ daemons: Daemons) -> Listener.Fate {
    switch self {
    case .close: return .ended
    case .stall: return .held
    case .refuse:
      send(connection, Self.alert, Self.alert.count, Int32(MSG_NOSIGNAL))
      return .ended
    case .certificate(let certificate):
      // A certificate that cannot be used ends in a failed handshake as well.
      guard let daemon = try? daemons.daemon(certificate) else { return .ended }
      daemon.add(connection)
      return .taken
    }
  }
}
