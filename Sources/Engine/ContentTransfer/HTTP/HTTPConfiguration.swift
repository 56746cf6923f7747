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
}

/// The proxy setting.
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

/// A header of a request.
package struct HTTPHeader: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Creates the header with a bearer token (RFC 6750).
  package init(bearerToken: String) { self.init("Authorization", "Bearer \(bearerToken)") }

  /// Whether this is exactly one header; a line break would start another one.
  var isWellFormed: Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: ":") }
      && value.utf8.allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 }
  }
}

extension HTTPConfiguration {
  /// Returns the secret headers that may be sent to `url`.
  func secrets(for url: WebURL) -> [HTTPHeader] {
    credentials.filter { $0.host.origin == url.origin }.flatMap(\.secrets)
  }
}
