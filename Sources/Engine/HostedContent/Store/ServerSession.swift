package import ContentTransfer

extension NetworkSettings {
  /// Creates a session for requests to a server that is not a store.
  ///
  /// Throws `insecureConnectionRefused` if secrets would be sent without encryption.
  package func serverSession(for server: WebURL) throws -> HTTPSession {
    try session(for: [server])
  }
}
