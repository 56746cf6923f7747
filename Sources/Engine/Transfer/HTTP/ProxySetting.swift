/// The proxy setting.
package enum ProxySetting: Hashable, Sendable {
  /// The proxies that environment variables name.
  case environment(ProxyVariables)
  /// No proxy.
  case direct
  /// A proxy such as `http://proxy.example:3128`.
  ///
  /// `exceptions` has the format of `no_proxy`.
  case url(String, exceptions: String? = nil)

  /// Returns the proxy for `url`, and the hosts that need no proxy, or nil for no proxy.
  ///
  /// Both have the format of libcurl.
  func proxy(for url: WebURL) -> (proxy: String, exceptions: String)? {
    switch self {
    case .direct: nil
    case .url(let proxy, let exceptions): (proxy, exceptions ?? "")
    case .environment(let variables):
      variables.proxy(for: url).map { ($0, variables.exceptions ?? "") }
    }
  }

  /// The addresses of all proxies that may be used.
  var addresses: [String] {
    switch self {
    case .direct: []
    // libcurl treats an empty address as no proxy.
    case .url(let proxy, _): proxy.isEmpty ? [] : [proxy]
    case .environment(let variables): variables.proxies
    }
  }
}

/// The proxies in environment variables, according to the rules of libcurl.
package struct ProxyVariables: Hashable, Sendable {
  private let http: String?
  private let https: String?
  private let all: String?
  /// The hosts that are reached without a proxy, in the format of `no_proxy`.
  package let exceptions: String?

  /// Reads `environment`; empty variables are ignored.
  package init(_ environment: [String: String]) {
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    // `HTTP_PROXY` is ignored: in a CGI program, a client can set it with a header.
    http = value("http_proxy")
    https = value("https_proxy", "HTTPS_PROXY")
    all = value("all_proxy", "ALL_PROXY")
    exceptions = value("no_proxy", "NO_PROXY")
  }

  var proxies: [String] { [http, https, all].compactMap(\.self) }

  func proxy(for url: WebURL) -> String? { (url.isSecure ? https : http) ?? all }
}
