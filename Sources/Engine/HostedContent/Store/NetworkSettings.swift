import ContentModel
public import ContentTransfer
public import FoundationEssentials

/// How a store on the web is reached; a store in a folder needs none of it.
///
/// Certificates are always checked. Source: libcurl's options of the same names.
public struct NetworkSettings: Sendable {
  /// Which proxy is used.
  public enum Proxy: Hashable, Sendable {
    /// What `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say.
    case environment
    /// None.
    case direct
    /// This one, such as `http://proxy.example:3128`.
    case url(String)
  }

  /// A bearer token (RFC 6750) for the store and its mirrors; other hosts never see it.
  ///
  /// Over plain HTTP it is sent to this machine only, and to `plainHTTPOrigins`. A queue with
  /// another such store or mirror is not created: `insecureConnectionRefused`.
  public var bearerToken: String?
  /// Headers, by name, for the store and its mirrors only; the rule is that of `bearerToken`.
  public var headers: [String: String] = [:]
  /// The origins besides this machine, such as `http://store.example:8080`, that the token, the
  /// headers and a proxy's password may go to over plain HTTP, where others can read them.
  public var plainHTTPOrigins: [URL] = []
  /// Which proxy is used.
  public var proxy = Proxy.environment
  /// A file of certificate authorities in PEM instead of the system's.
  public var certificateAuthorities: URL?
  /// Seconds that a connection, with its TLS handshake, may take.
  public var connectTimeout = 15.0
  /// Seconds without progress after which a transfer is tried anew.
  public var stallTimeout = 15.0
  /// How often a piece is asked for in all; answers of 429 and 503 are no attempts.
  public var attempts = 5
  /// Seconds for which a server may answer nothing but 429 and 503.
  public var busyTimeout = 90.0
  /// How much is transferred at once, and how fast; see `PaymentQueue.transferLimits`.
  public var limits = TransferLimits()

  /// The first of the growing delays between attempts, in seconds.
  package var firstRetryDelay = 0.5

  /// The process's environment; read once for each queue or call.
  package var environment: @Sendable () -> [String: String] = {
    ProcessInfo.processInfo.environment
  }

  /// Creates settings with the defaults.
  public init() {}

  /// The session that these settings make for `servers`.
  ///
  /// Throws `insecureConnectionRefused` for secrets that would be sent without encryption.
  func session(for servers: [WebURL]) throws -> HTTPSession {
    let variables = ProxyVariables(environment())
    var configuration = HTTPConfiguration()
    let headers =
      headers.sorted { $0.key < $1.key }.map { HTTPHeader($0.key, $0.value) }
      + (bearerToken.map { [HTTPHeader("Authorization", "Bearer \($0)")] } ?? [])
    configuration.credentials =
      headers.isEmpty ? [] : servers.map { HTTPCredentials(for: $0, headers: headers) }
    configuration.plainHTTPOrigins = try plainHTTPOrigins.map { try WebURL($0.absoluteString) }
    configuration.proxy =
      switch proxy {
      case .environment: .environment(variables)
      case .direct: .direct
      case .url(let url): .url(url, exceptions: variables.exceptions)
      }
    configuration.certificateAuthorities = certificateAuthorities?.path(percentEncoded: false)
    configuration.connectTimeout = connectTimeout
    configuration.stallTimeout = stallTimeout
    configuration.retry.attempts = max(1, attempts)
    configuration.retry.busyTimeout = busyTimeout
    configuration.retry.firstDelay = firstRetryDelay
    configuration.limits = limits
    return try HTTPSession(configuration, pauses: .shared)
  }
}
