import HostedHTTPValues
import HostedModel
public import HostedTransfer
public import FoundationEssentials

/// How to reach a web store; a store in a folder uses only the rates of `limits`.
///
/// Certificates are always verified. Source: libcurl's options of the same names.
public struct NetworkSettings: Sendable {
  /// The proxy to use.
  public enum Proxy: Hashable, Sendable {
    /// The proxy that `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` name.
    case environment
    /// No proxy.
    case direct
    /// A proxy by its URL, such as `http://proxy.example:3128`; not for hosts in `no_proxy`.
    case url(URL)
  }

  /// A bearer token (RFC 6750) for the store and its mirrors; never sent to other hosts.
  ///
  /// Over plain HTTP it is sent only to this machine and to `plainHTTPOrigins`. Creating a queue
  /// for another plain HTTP store or mirror throws `insecureConnectionRefused`.
  public var bearerToken: String?
  /// Header fields by name, sent to the store and its mirrors as `bearerToken` is.
  public var headers: [String: String] = [:]
  /// Origins that may receive secrets over plain HTTP, where others can read them.
  ///
  /// An example is `http://store.example:8080`. Secrets are the token, the headers and a proxy's
  /// password.
  public var plainHTTPOrigins: [URL] = []
  /// The proxy to use.
  public var proxy = Proxy.environment
  /// A PEM file of certificate authorities that replaces the system's.
  public var certificateAuthorities: URL?
  /// The time limit for a connection and its TLS handshake, at least a millisecond.
  public var connectTimeout = Duration.seconds(15)
  /// The longest time without progress before a transfer is retried.
  public var stallTimeout = Duration.seconds(15)
  /// The maximum number of requests per piece, at least 1; responses 429 and 503 do not count.
  ///
  /// Each mirror is asked at least once.
  public var attempts = 5
  /// The longest time during which a server may respond only with 429 and 503.
  public var busyTimeout = Duration.seconds(90)
  /// Limits for connections and rate; see `PaymentQueue.transferLimits`.
  public var limits = TransferLimits()

  /// The first of the growing delays between attempts.
  package var firstRetryDelay = Duration.milliseconds(500)

  /// The process's environment; read once for each queue or call.
  package var environment: @Sendable () -> [String: String] = {
    ProcessInfo.processInfo.environment
  }

  /// Creates settings with the defaults.
  public init() {}

  /// Creates the session for `servers`.
  ///
  /// Throws `insecureConnectionRefused` if secrets would be sent without encryption.
  package func session(for servers: [WebURL], pauses: HostPauses = .shared) throws -> HTTPSession {
    let variables = ProxyVariables(environment())
    var configuration = HTTPConfiguration()
    let headers =
      HTTPHeaders(headers).fields
      + (bearerToken.map { [HTTPHeader(bearerToken: $0)] } ?? [])
    configuration.credentials =
      headers.isEmpty ? [] : servers.map { HTTPCredentials(for: $0, headers: headers) }
    configuration.plainHTTPOrigins = try plainHTTPOrigins.map { try WebURL($0.absoluteString) }
    configuration.proxy =
      switch proxy {
      case .environment: .environment(variables)
      case .direct: .direct
      case .url(let url): .url(url.absoluteString, exceptions: variables.exceptions)
      }
    configuration.certificateAuthorities = certificateAuthorities?.path(percentEncoded: false)
    configuration.connectTimeout = connectTimeout.inSeconds
    configuration.stallTimeout = stallTimeout.inSeconds
    configuration.retry.attempts = max(1, attempts)
    configuration.retry.busyTimeout = busyTimeout.inSeconds
    configuration.retry.firstDelay = firstRetryDelay.inSeconds
    configuration.limits = limits
    return try HTTPSession(configuration, pauses: pauses)
  }
}

extension NetworkSettings: CustomStringConvertible {
  /// The settings without secrets: no token, and only the names of headers.
  public var description: String {
    let token = bearerToken == nil ? "" : "bearer token, "
    return "\(token)headers: \(headers.keys.sorted()), proxy: \(proxy), timeouts: "
      + "\(connectTimeout), \(stallTimeout), \(busyTimeout), attempts: \(attempts)"
  }
}

extension NetworkSettings.Proxy: CustomStringConvertible {
  /// The kind or address of the proxy, without its password.
  public var description: String {
    switch self {
    case .environment: "environment"
    case .direct: "direct"
    case .url(let url): "\(url.host() ?? "")\(url.port.map { ":\($0)" } ?? "")"
    }
  }
}
