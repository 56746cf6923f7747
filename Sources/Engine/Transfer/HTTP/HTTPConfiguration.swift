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
