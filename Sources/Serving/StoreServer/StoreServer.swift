package import HostedHTTPValues
import HostedFileIO
import Glibc
package import HostedStoreAPI
package import HostedFileServer

/// Serves an API over HTTP/1.1: one thread for all connections, and a few that call the handler.
///
/// Thread-safe. It has no TLS; a proxy such as nginx adds it.
package final class StoreServer: Sendable {
  private let configuration: Configuration
  private let handle: Handler
  private let lifetime: ServerLifetime

  /// Handles a request, and passes one response to `respond`, on any thread.
  ///
  /// It runs on one of a few threads, so a request that waits for long must respond later. The body
  /// of a response to HEAD is not sent.
  package typealias Handler =
    @Sendable (HTTPRequest, _ respond: @escaping StoreAPI.Respond) -> Void

  /// The port and the limits of a server.
  package struct Configuration: Sendable {
    /// Returns the port at which the server listens; called at the first start.
    package var openPort: @Sendable () throws -> HeldPort = { try HeldPort("127.0.0.1", 0) }
    /// The number of threads that call the handler.
    package var workers = 4
    package var limits = ConnectionLimits(
      connections: 4_096, connectionsPerAddress: 256, limitsLoopback: false)
    /// The maximum bytes of a request's body; a longer one is refused with 413.
    package var bodyLimit = HTTPRequest.maximumBody
    /// The time in which a client must receive a response, except a stream.
    package var responseTimeout: Duration = .seconds(120)
    /// How long `stop` waits for requests in progress; a decision of a webhook takes up to 15 s.
    package var stopTimeout: Duration = .seconds(20)
    /// Called when `stop` begins, so that the handler responds to requests that wait for events.
    ///
    /// It must not block, because `stopTimeout` begins afterwards.
    package var onStop: (@Sendable () -> Void)?
    /// Called after `stopTimeout`, if requests are still in progress.
    ///
    /// It ends what they wait for, and they get 5 s for their responses.
    package var onStopTimeout: (@Sendable () -> Void)?
    /// Returns the response to a request that needs no thread of the handler; nil for others.
    ///
    /// Called on the thread of all connections, so it must not block.
    package var respondAtOnce: (@Sendable (HTTPRequest) -> HTTPResponse<APIBody>?)?
    /// Called for each request after its response has ended, on a thread of the handler.
    package var onRequest: (@Sendable (HandledRequest) -> Void)?

    package init() {}
  }

  package init(_ configuration: Configuration, handle: @escaping Handler) {
    self.configuration = configuration
    self.handle = handle
    lifetime = ServerLifetime(openPort: configuration.openPort)
  }

  deinit { stop() }

  /// Listens and responds until `stop`.
  ///
  /// Does nothing if the server already listens. Throws `cannotListen` if the address or port
  /// cannot be used, and `tooFewThreads` if the system does not allow as many as the server needs.
  package func start() throws {
    // One for all connections, and one that accepts them.
    try ThreadLimits.require(configuration.workers + 2, for: "A store server")
    MemoryArenas.limit()
    Self.allowDescriptors(configuration.limits.connections)
    try lifetime.start { _ in
      let connections = ConnectionTable(configuration.limits)
      let dispatcher = try RequestDispatcher(configuration, connections, handle)
      let daemon = try HTTPDaemon(
        .single(memory: RequestDispatcher.connectionBytes, RequestDispatcher.refusal), connections,
        allowsEscapedSlashes: true
      ) { APIExchange($0, $1, $2, dispatcher) }
      return (
        connections: connections,
        take: { connection in
          daemon.add(connection)
          return .taken
        }, stop: { dispatcher.stop(daemon) }
      )
    }
  }

  /// Stops gracefully: accepts nothing more, ends streams, completes requests, and closes.
  ///
  /// Requests that are not complete after `stopTimeout` get no response. It waits for running calls
  /// of the handler; do not call it from one. The server can be started again.
  package func stop() { lifetime.stop() }

  /// The current or last port; 0 before the first start.
  package var port: UInt16 { lifetime.port?.number ?? 0 }

  /// The URL of the server, with a trailing slash; empty before the first start.
  package var url: String { lifetime.port?.url(scheme: "http") ?? "" }

  // MARK: The system

  /// The descriptors that the process needs for other things than connections.
  private static let otherDescriptors = 256

  /// Raises the soft limit of descriptors, usually 1,024, as far as the system allows it.
  private static func allowDescriptors(_ connections: Int) {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    let needed = rlim_t(connections + otherDescriptors)
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
    limit.rlim_cur = min(needed, limit.rlim_max)
    setrlimit(resource, &limit)
  }
}

/// A request for an access log, without secrets: without its query, headers and body.
package struct HandledRequest: Hashable, Sendable {
  /// The method as it was sent, such as `HEAD`.
  package let method: String
  /// The decoded path in one line that is safe to print; `-` if it is malformed.
  package let path: String
  /// The status that was sent; nil if the connection was closed before.
  package let status: Int?
  /// The time from the request line to the end of the response.
  package let duration: Duration
}
