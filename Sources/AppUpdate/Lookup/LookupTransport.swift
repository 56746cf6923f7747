public import FoundationEssentials
import HostedConcurrency
import HostedHTTPValues
import HostedTransfer

/// Sends requests to a server for app versions.
///
/// You can provide your own implementation. Several tasks may call it at once.
public protocol LookupTransport: Sendable {
  /// Sends `request` and returns the response, with any status.
  ///
  /// Redirects are followed, but not to plain HTTP, because a response may force an update on the
  /// user. Throws a `ContentError` if a response does not arrive within the request's timeout,
  /// or if the body exceeds the request's maximum size.
  func get(_ request: LookupRequest) async throws -> LookupResponse
}

/// A GET request to a server for app versions.
public struct LookupRequest: Hashable, Sendable, CustomStringConvertible {
  /// The complete URL.
  public let url: URL
  /// The headers.
  public let headers: [String: String]
  /// The maximum size of the body in bytes; a negative number counts as 0.
  public let maximumSize: Int
  /// The time after which the request fails, including redirects and a second attempt.
  public let timeout: Duration

  /// Creates a request for a body of at most `maximumSize` bytes.
  ///
  /// With `revalidates`, caches must ask the server before they answer.
  public init(
    url: URL, revalidates: Bool = false, maximumSize: Int = 16 << 20,
    timeout: Duration = .seconds(20)
  ) {
    self.url = url
    var headers = ["Accept": "application/json"]
    if revalidates { headers["Cache-Control"] = "no-cache" }
    self.headers = headers
    self.maximumSize = maximumSize
    self.timeout = timeout
  }

  /// The method and the URL.
  public var description: String { "GET \(url.absoluteString)" }
}

/// An HTTP response of a server for app versions.
public struct LookupResponse: Hashable, Sendable, CustomStringConvertible {
  /// The HTTP status.
  public let status: Int
  /// The headers by lower-case name.
  public let headers: [String: String]
  /// The body, after decoding of its content encoding.
  public let body: [UInt8]

  /// Creates a response.
  ///
  /// Header names are case-insensitive.
  public init(status: Int, headers: [String: String] = [:], body: [UInt8]) {
    self.status = status
    self.headers = Dictionary(
      headers.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
    self.body = body
  }

  /// The status and the length of the body, such as `200, 310 bytes`.
  public var description: String { "\(status), \(body.count) bytes" }

  /// The seconds that the server asks to wait, at most one day; nil unless it asks.
  ///
  /// 403, 429 and 503 ask to wait. Without a valid Retry-After, the wait is one minute.
  func requestedWait(at now: Date) -> Double? {
    guard [403, 429, 503].contains(status) else { return nil }
    return min(RetryPolicy.retryAfter(headers["retry-after"], now: now) ?? 60, 86_400)
  }

  /// Returns the body of a success; throws the error of any other status.
  ///
  /// `wait` is the result of `requestedWait`, and `subject` the subject of the error.
  func checkedBody(from url: URL, wait: Double?, subject: String) throws -> [UInt8] {
    let server = url.host() ?? "The server"
    if let wait {
      throw ContentError.throttled(
        "\(server) returned status \(status) and asks to wait", seconds: wait, subject: subject)
    }
    switch status {
    case 200..<300: return body
    case 500...:
      throw ContentError(
        .serverFailed, "\(server) returned status \(status)", remedy: "Try again later",
        subject: subject)
    case 400:
      let members = try? JSONValue(answer: body, limit: 64 << 10, source: "").members
      throw ContentError(
        .queryInvalid, "\(server) refused the query", remedy: "Check the query", subject: subject,
        cause: members?["errorMessage"]?.stringValue?.printable(limit: 200))
    default:
      throw ContentError(
        .requestRefused, "\(server) returned status \(status)", remedy: "Check the server's URL",
        subject: subject)
    }
  }
}

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
    var wanted = TransferRequest(url, limit: max(0, request.maximumSize))
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
        status: response.status, headers: response.headers.byName, body: response.body)
    } onCancel: {
      ticket.cancel()
    }
  }
}
