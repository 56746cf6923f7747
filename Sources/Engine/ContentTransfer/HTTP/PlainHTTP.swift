import ContentModel

/// Where secrets may go over plain HTTP, which others on the way can read.
extension HTTPConfiguration {
  /// Throws `insecureConnectionRefused` if credentials, or the password of the proxy that is set,
  /// would go unencrypted to another machine, unless that is allowed.
  ///
  /// Throws `usage` if the address of a proxy is invalid. The secrets of a proxy of the environment
  /// are not checked: every program of the system sends them.
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
