/// Provides the URLs of the files of one transfer if they expire.
package protocol ContentAuthorizer: Sendable {
  /// Returns new URLs.
  ///
  /// Each time, they are at the same mirrors in the same order. After a retryable error, it is
  /// called again. Any other `ContentError` ends the transfer, such as `accessDenied`.
  func authorize() async throws -> AuthorizedURLs
}

/// The URLs of files, for a limited time.
///
/// Their queries are secret. The description of a `WebURL` does not contain the query.
package struct AuthorizedURLs: Sendable {
  /// The URLs at each mirror, by the file's path in the store.
  package let urls: [String: [WebURL]]
  /// The lifetime in seconds, or infinity.
  package let lifetime: Double
  /// The seconds of the lifetime that had passed when `authorize` was called.
  package private(set) var age = 0.0

  /// The share of the lifetime after which URLs are renewed.
  static let renewalShare = 0.8

  /// The time at the end in which no response may be running: services state times in whole
  /// seconds.
  ///
  /// At most a second, and never before the renewal.
  var margin: Double { min(1, lifetime * (1 - Self.renewalShare)) }

  package init(_ urls: [String: [WebURL]], lifetime: Double) {
    self.urls = urls
    self.lifetime = lifetime
  }

  /// Whether they need no renewal yet.
  package var isFresh: Bool { age < lifetime * Self.renewalShare }

  /// Returns the URLs `seconds` later.
  package func aged(by seconds: Double) -> AuthorizedURLs {
    var aged = self
    aged.age += seconds
    return aged
  }
}
