import HostedTransfer
import FoundationEssentials

/// Sends lookups over HTTPS, or over HTTP to this machine.
///
/// Certificates are checked and redirects are followed. Use one transport per process, so that
/// connections are shared. Can be used from any task.
public final class HTTPLookupTransport: LookupTransport {
  private let session: HTTPSession

  /// Creates a transport without connecting.
  ///
  /// It uses the proxy from the environment. Throws `usage` if the proxy's address is invalid.
  public init() throws {
    var configuration = HTTPConfiguration()
    configuration.proxy = .environment(ProxyVariables(ProcessInfo.processInfo.environment))
    // Servers allow about one lookup at a time.
    configuration.limits.connections = 4
    session = try HTTPSession(configuration, pauses: .shared)
  }

  deinit { session.close() }

  /// Sends a request.
  ///
  /// An attempt that fails without a response is repeated once. Throws `insecureConnectionRefused`
  /// for plain HTTP, except to this machine, `usage` for another scheme or a URL with a user name,
  /// `stopped` soon after the task is canceled, `limitExceeded` for a larger body, and network
  /// errors.
  public func get(_ request: LookupRequest) async throws -> LookupResponse {
    let url = try WebURL(request.url.absoluteString)
    try url.checkSecure()
    var wanted = HTTPRequest(url, limit: max(0, request.maximumSize))
    wanted.headers = request.headers.sorted { $0.key < $1.key }.map { HTTPHeader($0.key, $0.value) }
    wanted.deadline = request.timeout.inSeconds
    wanted.attempts = 2
    // The lookup itself handles the server's requests to wait, for all its calls.
    wanted.returnsEveryStatus = true
    let ticket = TransferTicket()
    wanted.ticket = ticket
    return try await withTaskCancellationHandler {
      let response = try await session.response(to: wanted)
      // A redirect from this machine may lead to plain HTTP on another one.
      try response.url.checkSecure()
      return LookupResponse(
        status: response.status, headers: response.headers, body: response.body)
    } onCancel: {
      ticket.cancel()
    }
  }
}
