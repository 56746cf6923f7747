package import HostedHTTPValues
import HostedModel

/// The settings of HTTP: timeouts, trust, credentials and limits.
///
/// Times are in seconds. Certificates are always checked; no setting turns this off.
package struct HTTPConfiguration: Sendable {
  /// Headers that are only sent to certain hosts.
  package var credentials: [HTTPCredentials] = []
  /// Other machines that may receive secrets over plain HTTP; only the origin counts.
  package var plainHTTPOrigins: [WebURL] = []
  package var proxy = ProxySetting.direct
  /// A PEM file of certificate authorities; it replaces the system's.
  package var certificateAuthorities: String?
  /// The maximum time to connect, including the TLS handshake.
  package var connectTimeout = 15.0
  /// The time without a byte after which an answer is idle, and a second request is made.
  ///
  /// This is the initial value. It adapts to each host.
  package var idleTimeout = 3.5
  /// The time in which fewer than `minimumBytes` mean that a transfer has stalled.
  package var stallTimeout = 15.0
  /// See `stallTimeout`; in bytes.
  package var minimumBytes: Int64 = 1500
  /// The addresses of hosts that are not resolved, in the form of `CURLOPT_RESOLVE`.
  ///
  /// For tests. Called once per request.
  package var fixedAddresses: @Sendable () -> [String] = { [] }
  /// When failed requests are retried.
  package var retry = RetryPolicy()
  /// The limits of concurrency and rate; `HTTPSession.limits` can change them later.
  package var limits = TransferLimits()

  package init() {}

  // MARK: Secrets over plain HTTP

  /// Throws `insecureConnectionRefused` if a secret would be sent unencrypted to another machine.
  ///
  /// This includes credentials and the password of a configured proxy, unless they are allowed.
  /// Throws `usage` if the address of a proxy is invalid. The secrets of a proxy from the
  /// environment are not checked, since all programs of the system send them.
  func checkSecrets() throws {
    for url in credentials.map(\.host) where !allowsSecrets(for: url) {
      throw ContentError.insecure("The token or headers for \(url.origin)", to: url)
    }
    for text in proxy.addresses {
      let (url, hasSecret) = try WebURL.ofProxy(text)
      guard case .url = proxy, hasSecret, !allowsSecrets(for: url) else { continue }
      throw ContentError.insecure("The user name and password of the proxy", to: url)
    }
  }

  /// Throws `insecureConnectionRefused` if a query, which may be a signature, would be.
  func checkQueries(of urls: some Sequence<WebURL>) throws {
    for url in urls where url.hasQuery && !allowsSecrets(for: url) {
      throw ContentError.insecure("The signed URL of content at \(url.origin)", to: url)
    }
  }

  /// Whether a connection to the server of `url` is encrypted, local, or explicitly allowed.
  package func allowsSecrets(for url: WebURL) -> Bool {
    url.isSecure || url.isLoopback || plainHTTPOrigins.contains { $0.origin == url.origin }
  }
}

extension ContentError {
  fileprivate static func insecure(_ secret: String, to url: WebURL) -> ContentError {
    ContentError(
      .insecureConnectionRefused,
      "\(secret) would be sent without encryption, so that others on the network can read it",
      remedy: "Use an https:// address, or allow plain HTTP for \(url.origin)", subject: url.origin)
  }
}

/// Headers that are sent to one origin (scheme, host and port), and never to another.
package struct HTTPCredentials: Hashable, Sendable, CustomStringConvertible {
  /// A URL of the origin; the path is ignored.
  package let host: WebURL
  /// The names and values.
  fileprivate let secrets: [HTTPHeader]

  /// Creates credentials from headers for the origin of `host`.
  package init(for host: WebURL, headers: [HTTPHeader]) {
    self.host = host
    secrets = headers
  }

  /// The origin, without secrets.
  package var description: String { "credentials for \(host.origin)" }
}

extension HTTPConfiguration {
  /// Returns the secret headers that may be sent to `url`.
  func secrets(for url: WebURL) -> [HTTPHeader] {
    credentials.filter { $0.host.origin == url.origin }.flatMap(\.secrets)
  }
}

package enum ProxySetting: Hashable, Sendable {
  /// The proxies that environment variables name.
  case environment(ProxyVariables)
  /// No proxy.
  case direct
  /// A proxy such as `http://proxy.example:3128`.
  ///
  /// `exceptions` has the format of `no_proxy`.
  case url(String, exceptions: String? = nil)

  /// Returns the proxy for `url`, and the hosts that need no proxy, or nil for no proxy.
  ///
  /// Both have the format of libcurl.
  func proxy(for url: WebURL) -> (proxy: String, exceptions: String)? {
    switch self {
    case .direct: nil
    case .url(let proxy, let exceptions): (proxy, exceptions ?? "")
    case .environment(let variables):
      variables.proxy(for: url).map { ($0, variables.exceptions ?? "") }
    }
  }

  /// The addresses of all proxies that may be used.
  var addresses: [String] {
    switch self {
    case .direct: []
    // libcurl treats an empty address as no proxy.
    case .url(let proxy, _): proxy.isEmpty ? [] : [proxy]
    case .environment(let variables): variables.proxies
    }
  }
}

/// The proxies in environment variables, according to the rules of libcurl.
package struct ProxyVariables: Hashable, Sendable {
  private let http: String?
  private let https: String?
  private let all: String?
  /// The hosts that are reached without a proxy, in the format of `no_proxy`.
  package let exceptions: String?

  /// Reads `environment`; empty variables are ignored.
  package init(_ environment: [String: String]) {
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    // `HTTP_PROXY` is ignored: in a CGI program, a client can set it with a header.
    http = value("http_proxy")
    https = value("https_proxy", "HTTPS_PROXY")
    all = value("all_proxy", "ALL_PROXY")
    exceptions = value("no_proxy", "NO_PROXY")
  }

  var proxies: [String] { [http, https, all].compactMap(\.self) }

  func proxy(for url: WebURL) -> String? { (url.isSecure ? https : http) ?? all }
}
