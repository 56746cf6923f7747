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
