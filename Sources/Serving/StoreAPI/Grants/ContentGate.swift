import HostedHTTPValues

/// How the content host decides who gets packages.
package struct ContentGate: Sendable {
  /// The module of nginx that verifies URLs.
  package enum Module: String, Sendable {
    /// nginx asks `/internal/authorize` for each request.
    case authRequest = "auth-request"
    /// nginx verifies the URL itself.
    case secureLink = "secure-link"
  }

  let module: Module
  let secret: [UInt8]
  let contentURLs: [String]
  let lifetime: Duration

  /// Signs URLs below each of `contentURLs`, which are valid for `lifetime`.
  package init(_ module: Module, secret: [UInt8], contentURLs: [String], lifetime: Duration) {
    self.module = module
    self.secret = secret
    self.contentURLs = contentURLs
    self.lifetime = lifetime
  }
}

/// A web address of the content host.
struct ContentAddress: Sendable {
  /// Without a query and without a slash at its end.
  let url: String
  /// The decoded path of the store's folder, with a slash at its end.
  let folder: String

  init(_ text: String) {
    var url = text.prefix { $0 != "?" }
    while url.hasSuffix("/") { url.removeLast() }
    self.url = String(url)
    let path = HTTPRequest("GET", self.url).location?.path ?? "/"
    folder = path.hasSuffix("/") ? path : path + "/"
  }
}
