import HostedModel

/// Checks whether secrets may be sent over plain HTTP, which others on the network can read.
extension HTTPConfiguration {
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
