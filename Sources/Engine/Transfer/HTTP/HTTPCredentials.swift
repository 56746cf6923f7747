package import HostedHTTPValues

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
