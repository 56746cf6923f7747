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
