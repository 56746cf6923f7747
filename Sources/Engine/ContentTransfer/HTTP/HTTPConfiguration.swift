/// How HTTP is spoken: timeouts, trust, credentials, limits.
///
/// Times are in seconds. Whether certificates are checked is no setting: they are.
package struct HTTPConfiguration: Sendable {
  /// What the `User-Agent` header says.
  package var userAgent = "hostedcontent"
  /// Headers that only certain hosts may see.
  package var credentials: [HTTPCredentials] = []
  /// The origins besides this machine that secrets may go to over plain HTTP; paths do not matter.
  package var plainHTTPOrigins: [WebURL] = []
  /// Which proxy is used.
  package var proxy = ProxySetting.direct
  /// A file of certificate authorities in PEM instead of the system's.
  package var certificateAuthorities: String?
  /// How long a connection, with its TLS handshake, may take.
  package var connectTimeout = 15.0
  /// If nothing comes for this long, an answer is idle, and a second request is made.
  ///
  /// The first value; it adapts to what a host does.
  package var idleTimeout = 3.5
  /// Fewer than `minimumBytes` within this time, and a transfer counts as stalled.
  package var stallTimeout = 15.0
  /// See `stallTimeout`; bytes.
  package var minimumBytes: Int64 = 1500
  /// Headers of one request's answers, redirects included, in bytes.
  package var headerLimit = 64 << 10
  /// How many redirects are followed.
  package var redirectLimit = 5
  /// The addresses of hosts that are not looked up, as `CURLOPT_RESOLVE` takes them; for tests.
  ///
  /// Called once for each request.
  package var fixedAddresses: @Sendable () -> [String] = { [] }
  /// When something is tried again.
  package var retry = RetryPolicy()
  /// How much at once and how fast; may be changed while running by `HTTPSession.limits`.
  package var limits = TransferLimits()

  package init() {}
}

/// Which proxy is used.
package enum ProxySetting: Hashable, Sendable {
  /// What these variables of the environment say.
  case environment(ProxyVariables)
  /// None.
  case direct
  /// This one, such as `http://proxy.example:3128`, except for the hosts that `no_proxy` names.
  case url(String, exceptions: String? = nil)

  /// The proxy for requests to `url`, and the hosts to which requests go directly, as libcurl
  /// reads them; nil for none.
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
    // libcurl takes an empty address for none.
    case .url(let proxy, _): proxy.isEmpty ? [] : [proxy]
    case .environment(let variables): variables.proxies
    }
  }

  /// Whether one may stand between us and servers; which ones it serves is libcurl's to know.
  var mayBeUsed: Bool { !addresses.isEmpty }
}

/// The proxies that environment variables name, by the rules of libcurl.
package struct ProxyVariables: Hashable, Sendable {
  private let http: String?
  private let https: String?
  private let all: String?
  /// Hosts that are reached without a proxy, as `no_proxy` names them.
  package let exceptions: String?

  /// Takes what `environment` says; an empty variable says nothing.
  package init(_ environment: [String: String]) {
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    // `HTTP_PROXY` is left out: in a CGI program, a client can set it by a header.
    http = value("http_proxy")
    https = value("https_proxy", "HTTPS_PROXY")
    all = value("all_proxy", "ALL_PROXY")
    exceptions = value("no_proxy", "NO_PROXY")
  }

  var proxies: [String] { [http, https, all].compactMap(\.self) }

  func proxy(for url: WebURL) -> String? { (url.isSecure ? https : http) ?? all }
}

/// Headers that are sent to one origin (scheme, host and port) and never to another.
package struct HTTPCredentials: Hashable, Sendable, CustomStringConvertible {
  /// Who may see them; its path does not matter.
  package let host: WebURL
  /// Names and values.
  fileprivate let secrets: [HTTPHeader]

  /// Takes headers for the origin of `host`.
  package init(for host: WebURL, headers: [HTTPHeader]) {
    self.host = host
    secrets = headers
  }

  /// Takes a bearer token (RFC 6750) for the origin of `host`.
  package init(for host: WebURL, bearerToken: String) {
    self.init(for: host, headers: [HTTPHeader("Authorization", "Bearer \(bearerToken)")])
  }

  /// The origin, without what is secret.
  package var description: String { "credentials for \(host.origin)" }
}

/// One header to be sent.
package struct HTTPHeader: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether it is one header and nothing more: a line break would begin another one.
  var isWellFormed: Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: ":") }
      && value.utf8.allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 }
  }
}

extension HTTPConfiguration {
  /// The secret headers that `url` may see.
  func secrets(for url: WebURL) -> [HTTPHeader] {
    credentials.filter { $0.host.origin == url.origin }.flatMap(\.secrets)
  }
}

/// How much is transferred at once, and how fast.
public struct TransferLimits: Hashable, Sendable {
  /// Requests at once.
  public var connections = 16
  /// Requests at once to one origin; four times as many over HTTP/2, where they share a connection.
  public var connectionsPerHost = 8
  /// Requests at once for one package.
  public var connectionsPerTransfer = 2
  /// Requests at once for one package as long as they ask for less than 256 KiB together, since
  /// then the way to the server and back takes longer than the bytes.
  public var smallRequestsPerTransfer = 6
  /// Bytes a second in all; nil for no limit.
  public var bytesPerSecond: Int64?
  /// Bytes a second from one origin; nil for no limit.
  public var bytesPerSecondPerHost: Int64?
  /// Bytes of buffers that transfers may hold together; one may always go on.
  public var memory = 64 << 20

  /// The defaults.
  public init() {}
}
