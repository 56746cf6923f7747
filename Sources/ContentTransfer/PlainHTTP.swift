import ContentModel

/// Where secrets may go over plain HTTP, which others on the way can read.
extension HTTPConfiguration {
  /// Throws `insecureConnectionRefused` if credentials, or the password of the proxy that is set,
  /// would go unencrypted to another machine, unless that is allowed.
  ///
  /// What the environment says of a proxy is not checked: every program of the system sends that.
  func checkSecrets() throws {
    for url in credentials.map(\.host) where !allowsSecrets(for: url) {
      throw ContentError.insecure("The token or headers for \(url.origin)", to: url)
    }
    if case .url(let text, _) = proxy, let url = WebURL.ofProxy(withPassword: text),
      !allowsSecrets(for: url)
    {
      throw ContentError.insecure("The user name and password of the proxy", to: url)
    }
  }

  private func allowsSecrets(for url: WebURL) -> Bool {
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
