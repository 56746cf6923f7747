import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "Encrypted connections", .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)),
  .waiting, .timeLimit(.hang))
struct SecureTests {
  private let folder: TemporaryFolder
  private let file: SampleFile
  /// The paths of the server's certificate, which the client trusts, and of its key.
  private let certificate: (chain: String, key: String)

  init() throws {
    folder = try TemporaryFolder()
    certificate = try TestCertificate.right.write(to: folder)
    file = try SampleFile(path: "a.pkg", length: 20_000_001, pieces: [1_000_000, 70_000])
    try Data(file.bytes).write(to: URL(filePath: folder.path("a.pkg")))
  }

  private func server(_ listen: String = "ssl http2", _ directives: String = "") throws -> Nginx {
    let own = "ssl_certificate \(certificate.chain); ssl_certificate_key \(certificate.key);"
    return try Nginx(serving: folder.path, listen: listen, directives: own + directives)
  }

  private func get(_ server: Nginx, path: String = "/a.pkg") throws {
    var configuration = impatientConfiguration()
    configuration.certificateAuthorities = certificate.chain
    configuration.stallTimeout = 10
    let url = try WebURL("https://127.0.0.1:\(server.port)\(path)")
    _ = try HTTPSession(configuration).send(TransferRequest(url, limit: 1 << 26))
  }

  @Test("HTTP/2 is used if the server offers it, and all ranges share one connection", .slow)
  func http2() throws {
    let server = try server()
    let source = try HTTPPieceSource(at: "https://127.0.0.1:\(server.port)/") {
      $0.certificateAuthorities = certificate.chain
      $0.stallTimeout = 10
    }
    let ticket = TransferTicket()
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(ticket.statistics.protocolName == "HTTP/2")
    #expect(ticket.statistics.requests > 2)
    #expect(ticket.statistics.bytesWasted == 0)
    #expect(Set(server.requests().compactMap { $0.split(separator: "|").last }).count == 1)
  }

  /// A source whose server does not count as near, as servers on this machine would.
  private func distantSource(_ server: Nginx) throws -> HTTPPieceSource {
    let source = try HTTPPieceSource(at: "https://127.0.0.1:\(server.port)/") {
      $0.certificateAuthorities = certificate.chain
      $0.stallTimeout = 10
      // With a proxy, round-trip times to servers are unknown.
      $0.proxy = .url("http://127.0.0.1:1", exceptions: "127.0.0.1")
    }
    // Now the session knows that the server supports HTTP/2.
    let request = TransferRequest(try source.mirrors[0].appending("a.pkg"), limit: 1 << 26)
    _ = try source.session.send(request)
    return source
  }

  private func connections(_ server: Nginx) -> Int {
    Set(server.requests().compactMap { $0.split(separator: "|").last }).count
  }

  @Test("A large file from a distant server uses two connections, even with HTTP/2", .slow)
  func twoConnections() throws {
    let server = try server()
    let source = try distantSource(server)
    let large = try SampleFile(path: "b.pkg", length: 40_000_001, pieces: [1_000_000, 70_000])
    try Data(large.bytes).write(to: URL(filePath: folder.path("b.pkg")))
    for _ in 0..<2 { #expect(try source.fetch(large).bytes == large.bytes) }
    #expect(connections(server) == 2)
    let perConnection = Dictionary(
      grouping: server.requests(), by: { $0.split(separator: "|").last })
    #expect(perConnection.values.allSatisfy { $0.count >= 2 })
  }

  @Test("Many small files share one HTTP/2 connection, beyond the limit of connections", .slow)
  func manySmallFiles() throws {
    let server = try server()
    let source = try distantSource(server)
    let files = try (0..<100).map {
      try SampleFile(path: "\($0)", length: 3000, pieces: [3000], seed: UInt64($0))
    }
    for file in files {
      try Data(file.bytes).write(to: URL(filePath: folder.path(file.signed.path)))
    }
    DispatchQueue.concurrentPerform(iterations: files.count) { number in
      let bytes = try? source.fetch(files[number]).bytes
      #expect(bytes == files[number].bytes)
    }
    #expect(connections(server) == 1)
  }

  @Test("An untrusted certificate and one for another host are refused", .slow)
  func certificates() throws {
    let server = try server()
    try get(server)
    let url = try WebURL("https://127.0.0.1:\(server.port)/a.pkg")
    let plain = try HTTPSession(impatientConfiguration())
    #expect(code { _ = try plain.send(TransferRequest(url, limit: 10)) } == .certificateUntrusted)
    _ = try TestCertificate.wrong.write(to: folder)
    #expect(code { try get(self.server()) } == .certificateUntrusted)
  }

  @Test("TLS before 1.2 is refused", .slow)
  func oldTLS() throws {
    let server = try server("ssl", "ssl_protocols TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;")
    #expect(code { try get(server) } == .secureConnectionFailed)
  }

  @Test("A redirect from https to http is refused", .slow)
  func downgrade() throws {
    let server = try server("ssl", "location /away { return 302 http://127.0.0.1:1/; }")
    #expect(code { try get(server, path: "/away") } == .redirectRefused)
  }

  @Test("A server without TLS has its own error", .slow)
  func noTLS() throws {
    let plain = try Nginx(serving: folder.path)
    #expect(code { try get(plain) } == .secureConnectionFailed)
  }
}
