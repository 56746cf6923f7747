import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "Permanent faults",
  .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)), .waiting,
  .timeLimit(.hang))
struct LastingFaultTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func secureServer(
    _ certificate: TestCertificate = .right, _ directives: String = ""
  ) throws -> (server: Nginx, url: String, authorities: String) {
    let paths = try certificate.write(to: folder)
    let own = "ssl_certificate \(paths.chain); ssl_certificate_key \(paths.key); "
    let server = try Nginx(serving: folder.path, listen: "ssl", directives: own + directives)
    return (server, "https://127.0.0.1:\(server.port)/", paths.chain)
  }

  /// Returns the error for `url`, and the number of requests.
  private func fail(
    _ url: String, authorities: String? = nil, connectTimeout: Double = 15
  ) throws -> (error: ContentError?, requests: Int) {
    var configuration = impatientConfiguration()
    configuration.certificateAuthorities = authorities
    configuration.connectTimeout = connectTimeout
    let session = try HTTPSession(configuration)
    let store = try WebURL(url)
    let error = #expect(throws: ContentError.self) {
      _ = try session.contents(of: "a", at: store, limit: 1000)
    }
    return (error, session.statistics.requests)
  }

  @Test("An expired certificate ends a request at once")
  func expiredCertificate() throws {
    let server = try secureServer(.expired)
    let (error, requests) = try fail(server.url, authorities: server.authorities)
    #expect(error?.code == .certificateUntrusted)
    #expect(error?.cause?.contains("expired") == true)
    #expect(requests == 1)
  }

  @Test("A missing or invalid file of authorities ends a request at once and is named")
  func authorities() throws {
    let server = try secureServer()
    let damaged = folder.path("damaged.pem")
    try Data("nothing".utf8).write(to: URL(filePath: damaged))
    for file in [folder.path("missing.pem"), damaged] {
      let (error, requests) = try fail(server.url, authorities: file)
      #expect(error?.code == .certificateUntrusted)
      #expect(error?.message.contains("authorities") == true, "\(String(describing: error))")
      #expect(error?.cause?.contains(file) == true, "\(String(describing: error))")
      #expect(requests == 1)
    }
  }

  @Test("A redirect loop and a redirect from https to http are not retried")
  func redirects() throws {
    let loop = try Nginx(serving: folder.path, directives: "location / { return 302 $uri; }")
    let (error, requests) = try fail(loop.url())
    #expect(error?.code == .tooManyRedirects)
    #expect(requests == 1)
    #expect(loop.requests().count == 6)
    let server = try secureServer(.right, "location / { return 302 http://127.0.0.1:1/; }")
    let (other, count) = try fail(server.url, authorities: server.authorities)
    #expect(other?.code == .redirectRefused)
    #expect(count == 1)
  }

  @Test("A server that requires a host name has another remedy than one with old TLS")
  func missingName() throws {
    let server = try secureServer(.right, "ssl_reject_handshake on;")
    let (error, _) = try fail(server.url, authorities: server.authorities)
    #expect(error?.code == .secureConnectionFailed)
    #expect(error?.remedy.contains("name") == true, "\(String(describing: error))")
    #expect(error?.remedy.contains("TLS 1.2") == false)
  }

  @Test("A required client certificate has its own error: nginx")
  func clientCertificate() throws {
    let server = try secureServer(
      .right, "ssl_client_certificate \(folder.path("certificate.pem")); ssl_verify_client on;")
    let (error, requests) = try fail(server.url, authorities: server.authorities)
    #expect(error?.message.contains("client certificate") == true, "\(String(describing: error))")
    #expect(error?.isRetryable == false)
    #expect(requests == 1)
  }

  @Test("A required client certificate has its own error: openssl")
  func clientCertificateAlert() throws {
    let paths = try TestCertificate.right.write(to: folder)
    let port = try ReservedPort()
    let openssl = try #require(ServerProcess.path(of: "openssl"))
    let server = ServerProcess(
      [
        openssl, "s_server", "-accept", "127.0.0.1:\(port.number)", "-cert", paths.chain, "-key",
        paths.key, "-Verify", "1", "-verify_return_error", "-www", "-quiet",
      ], port: port.number)
    #expect(server != nil)
    let (error, requests) = try fail(
      "https://127.0.0.1:\(port.number)/", authorities: paths.chain)
    #expect(error?.message.contains("client certificate") == true, "\(String(describing: error))")
    #expect(error?.isRetryable == false)
    #expect(requests == 1)
  }

  @Test("The error for an unanswered TLS handshake mentions the MTU", .slow)
  func silentHandshake() throws {
    let server = try ScriptedServer { _ in .init([], then: .hang) }
    let (error, _) = try fail("https://127.0.0.1:\(server.port)/", connectTimeout: 0.5)
    #expect(error?.code == .connectionTimedOut)
    #expect(error?.remedy.contains("MTU") == true, "\(String(describing: error))")
  }
}
