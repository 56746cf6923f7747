import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Proxies that fail", .waiting, .timeLimit(.hang))
struct ProxyTests {
  /// Squid with a required user name and password.
  private static let login = """
    auth_param basic program /usr/lib/squid/basic_fake_auth
    acl known proxy_auth REQUIRED
    http_access allow known
    http_access deny all
    """

  /// Returns the error for `url` through `proxy`, and the number of requests.
  private func fail(
    _ url: String, through proxy: String
  ) throws -> (error: ContentError?, requests: Int) {
    var configuration = impatientConfiguration()
    configuration.proxy = .url(proxy)
    let session = try HTTPSession(configuration)
    let store = try WebURL(url)
    let error = #expect(throws: ContentError.self) {
      _ = try session.contents(of: "metadata/timestamp.json", at: store, limit: 1000)
    }
    return (error, session.statistics.requests)
  }

  @Test(
    "A proxy that requires a password is named, and tried once", .slow,
    .enabled(if: Squid.isInstalled, Comment(rawValue: Squid.reason)),
    arguments: ["http://127.0.0.1:1/", "https://127.0.0.1:1/"])
  func password(url: String) throws {
    let squid = try Squid(access: Self.login)
    let (error, requests) = try fail(url, through: squid.url)
    #expect(error?.code == .accessDenied)
    #expect(error?.message.contains("proxy") == true, "\(String(describing: error))")
    #expect(error?.remedy.contains("proxy") == true, "\(String(describing: error))")
    #expect(requests == 1)
  }

  @Test(
    "A proxy that refuses the connection to a host is named, and tried once", .slow,
    .enabled(if: Squid.isInstalled, Comment(rawValue: Squid.reason)))
  func refusedTunnel() throws {
    let squid = try Squid(access: "http_access deny all")
    let (error, requests) = try fail("https://127.0.0.1:1/", through: squid.url)
    #expect(error?.code == .accessDenied)
    #expect(error?.message.contains("proxy") == true, "\(String(describing: error))")
    #expect(requests == 1)
  }

  @Test(
    "A missing proxy is not reported as a missing store",
    arguments: ["http://127.0.0.1:1/", "https://127.0.0.1:1/", "http://store.invalid/"])
  func deadProxy(url: String) throws {
    let port = try ReservedPort()
    let (error, _) = try fail(url, through: "http://127.0.0.1:\(port.number)")
    #expect(error?.code == .proxyFailed, "\(String(describing: error))")
  }

  @Test("A missing store is not reported as a missing proxy that is not used")
  func exceptedStore() throws {
    let (proxy, port) = (try ReservedPort(), try ReservedPort())
    var configuration = impatientConfiguration()
    configuration.proxy = .url("http://127.0.0.1:\(proxy.number)", exceptions: "127.0.0.1")
    let session = try HTTPSession(configuration)
    let request = TransferRequest(try WebURL("http://127.0.0.1:\(port.number)/"), limit: 10)
    #expect(code { _ = try session.send(request) } == .connectionRefused)
  }

  @Test(
    "An invalid proxy address throws usage",
    arguments: ["http://", "http://a b:1", "ftp://proxy:1", "http://proxy:99999", "://x"])
  func invalidAddress(proxy: String) throws {
    for setting in [
      ProxySetting.url(proxy), .environment(ProxyVariables(["http_proxy": proxy])),
    ] {
      var configuration = impatientConfiguration()
      configuration.proxy = setting
      #expect(code { _ = try HTTPSession(configuration) } == .usage)
    }
  }
}
