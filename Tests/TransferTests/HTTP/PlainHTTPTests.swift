import HostedHTTPValues
import HostedModel
import HostedTransfer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Secrets are only sent over plain HTTP to this machine and to allowed servers.
@Suite("Secrets and plain HTTP", .waiting, .timeLimit(.hang))
struct PlainHTTPTests {
  private func configuration(_ url: String, proxy: ProxySetting = .direct) throws
    -> HTTPConfiguration
  {
    var configuration = impatientConfiguration()
    configuration.credentials = [HTTPCredentials(for: try WebURL(url), bearerToken: "secret")]
    configuration.proxy = proxy
    return configuration
  }

  private func refusal(_ configuration: HTTPConfiguration) -> ContentError? {
    do {
      _ = try HTTPSession(configuration)
      return nil
    } catch {
      return error as? ContentError
    }
  }

  // MARK: Servers

  @Test(
    "A token for a server with plain HTTP is refused before anything is sent",
    arguments: [
      "http://store.invalid/", "http://192.0.2.1:8080/store", "http://128.0.0.1/",
      "http://0.0.0.0/", "http://127.0.0.1.example.com/", "http://localhost.example.com/",
      "http://mylocalhost/", "http://localhost./", "http://[2001:db8::1]/",
      "http://[::ffff:127.0.0.1]/", "http://[::2]/",
    ])
  func refused(url: String) throws {
    let seen = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let configuration = try configuration(url, proxy: .url("http://127.0.0.1:\(seen.port)"))
    let error = refusal(configuration)
    #expect(error?.code == .insecureConnectionRefused)
    let origin = try WebURL(url).origin
    #expect(error?.message.contains(origin) == true)
    #expect(error?.remedy.contains("https://") == true)
    #expect(error.map { "\($0)" }?.contains("secret") == false)
    // What an attacker on the network would read.
    if error == nil {
      _ = try HTTPSession(configuration).send(TransferRequest(try WebURL(url), limit: 10))
    }
    #expect(seen.requests.compactMap { $0.header("authorization") } == [])
  }

  @Test("Each header counts as a secret, and a single refused server is enough")
  func headers() throws {
    var configuration = try configuration("https://store.invalid/")
    configuration.credentials.append(
      HTTPCredentials(
        for: try WebURL("http://mirror.invalid/"), headers: [HTTPHeader("Accept-Language", "de")]))
    #expect(refusal(configuration)?.code == .insecureConnectionRefused)
    #expect(refusal(configuration)?.subject == "http://mirror.invalid:80")
  }

  @Test(
    "HTTPS and this machine are accepted",
    arguments: [
      "https://store.invalid/", "http://127.0.0.1/", "http://127.0.0.1:8080/", "http://127.9.8.7/",
      "http://127.1/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]:81/", "http://localhost/",
      "http://LocalHost:8080/",
    ])
  func accepted(url: String) throws {
    #expect(try refusal(configuration(url)) == nil)
  }

  @Test("A server at localhost gets the token")
  func localhost() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let url = "http://localhost:\(server.port)/"
    let session = try HTTPSession(configuration(url))
    #expect(try session.send(TransferRequest(try WebURL(url), limit: 10)).body == [7])
    #expect(server.requests.map { $0.header("authorization") } == ["Bearer secret"])
  }

  @Test("An allowed origin gets the token, but other ports of its host do not")
  func allowed() throws {
    let proxy = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let url = try WebURL("http://store.invalid:8080/file")
    var configuration = try configuration(
      url.text, proxy: .url("http://127.0.0.1:\(proxy.port)"))
    configuration.plainHTTPOrigins = [try WebURL("http://store.invalid:8080/elsewhere")]
    _ = try HTTPSession(configuration).send(TransferRequest(url, limit: 10))
    #expect(proxy.requests.map { $0.header("authorization") } == ["Bearer secret"])
    for other in ["http://store.invalid/", "https://store.invalid:8080/"] {
      configuration.plainHTTPOrigins = [try WebURL(other)]
      #expect(refusal(configuration)?.code == .insecureConnectionRefused)
    }
  }

  // MARK: Proxies

  @Test("A token for this machine is not sent through a proxy")
  func pastTheProxy() throws {
    let proxy = try ScriptedServer { _ in .http("200 OK", body: [1]) }
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let url = try WebURL(server.url())
    let configuration = try configuration(
      url.text, proxy: .url("http://127.0.0.1:\(proxy.port)"))
    #expect(try HTTPSession(configuration).send(TransferRequest(url, limit: 10)).body == [7])
    #expect(proxy.requests.isEmpty)
    #expect(server.requests.map { $0.header("authorization") } == ["Bearer secret"])
  }

  @Test(
    "A proxy's password is not sent over an unencrypted connection",
    arguments: [
      "http://ann:secret@proxy.invalid:3128", "ann:secret@proxy.invalid:3128",
      "http://ann@proxy.invalid", "socks5://ann:secret@proxy.invalid:1080",
      "socks5h://ann:secret@192.0.2.1", "HTTP://ann:secret@proxy.invalid:3128/?@127.0.0.1",
    ])
  func proxyPassword(proxy: String) throws {
    var configuration = impatientConfiguration()
    configuration.proxy = .url(proxy)
    let error = refusal(configuration)
    #expect(error?.code == .insecureConnectionRefused)
    #expect(error.map { "\($0)" }?.contains("secret") == false)
  }

  @Test(
    "A proxy's password is accepted with encryption, for this machine, or if allowed",
    arguments: [
      "https://ann:secret@proxy.invalid:3128", "http://ann:secret@127.0.0.1:3128",
      "http://ann:secret@localhost:3128", "http://proxy.invalid:3128", "proxy.invalid:3128", "",
      "http://ann:secret@allowed.invalid:3128", "ann:secret@allowed.invalid:3128",
    ])
  func acceptedProxy(proxy: String) throws {
    var configuration = impatientConfiguration()
    configuration.proxy = .url(proxy)
    configuration.plainHTTPOrigins = [try WebURL("http://allowed.invalid:3128")]
    #expect(refusal(configuration) == nil)
  }
}

extension HTTPCredentials {
  init(for host: WebURL, bearerToken: String) {
    self.init(for: host, headers: [HTTPHeader(bearerToken: bearerToken)])
  }
}
