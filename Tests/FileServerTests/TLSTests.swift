import HostedModel
import HostedFileIO
import HostedFileServer
import HostedTestSupport
import Testing

@Suite("HTTPS")
struct TLSTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for (name, text) in [
      ("right.pem", TestCertificate.right.chain), ("right.key", TestCertificate.right.key),
      ("wrong.pem", TestCertificate.wrong.chain), ("wrong.key", TestCertificate.wrong.key),
    ] {
      try folder.directory.createFile(name).write(Array("\(text)\n".utf8))
    }
  }

  private func certificate(_ chain: String, _ key: String) -> Certificate {
    Certificate(chain: folder.path(chain), key: folder.path(key))
  }

  private func fixture(_ faults: String = "") throws -> ServerFixture {
    try ServerFixture(faults) { $0.certificate = certificate("right.pem", "right.key") }
  }

  private func connect(_ fixture: ServerFixture) throws -> TLSClient {
    try TLSClient(port: fixture.server.port, trusting: TestCertificate.right.chain)
  }

  private func cause(_ body: () throws -> Void) -> String {
    #expect(throws: ContentError.self, performing: body)?.cause ?? ""
  }

  @Test("With a certificate, the server serves HTTPS")
  func serves() throws {
    let fixture = try fixture()
    #expect(fixture.server.url == "https://127.0.0.1:\(fixture.server.port)/")
    let client = try connect(fixture)
    client.get("/targets/file.bin")
    #expect(client.bytes.starts(with: Array("HTTP/1.1 200 OK\r\n".utf8)))
    #expect(client.bytes.suffix(1_000).elementsEqual(ServerFixture.file))
    #expect(client.endsInOrder)
  }

  @Test("Faults act on TLS connections, and cut sends no close alert")
  func faults() throws {
    let fixture = try fixture("* cut 10\n*.json content-length none")
    let client = try connect(fixture)
    client.get("/targets/file.bin")
    #expect(client.bytes.suffix(10).elementsEqual(ServerFixture.file[..<10]))
    #expect(!client.endsInOrder)
    try fixture.server.setFaults(FaultScript("* longer 3"))
    let longer = try connect(fixture)
    longer.get("/metadata/timestamp.json")
    #expect(longer.bytes.suffix(5).elementsEqual(Array("{}".utf8) + [0, 0, 0]))
  }

  @Test("tls: the handshake is closed, refused with an alert, or never answered; then it works")
  func handshakes() throws {
    let fixture = try fixture("* tls close once")
    #expect(cause { _ = try connect(fixture) }.isEmpty == false)
    #expect(throws: Never.self) { try connect(fixture) }

    try fixture.server.setFaults(FaultScript("* tls refuse once"))
    #expect(cause { _ = try connect(fixture) }.contains("alert"))
    #expect(throws: Never.self) { try connect(fixture) }

    try fixture.server.setFaults(FaultScript("* tls stall once"))
    let client = try fixture.client()
    client.send("\u{16}\u{3}\u{1}")
    #expect(throws: Never.self) { try connect(fixture) }
    fixture.server.stop()
    #expect(!client.receive() && client.end != .silence, "until the server stops")
  }

  @Test("tls certificate: a certificate of another host, then the correct one")
  func wrongCertificate() throws {
    let (chain, key) = (folder.path("wrong.pem"), folder.path("wrong.key"))
    let fixture = try fixture("* tls certificate \"\(chain)\" \(key) 2 times")
    for _ in 1...2 { #expect(cause { _ = try connect(fixture) }.contains("certificate")) }
    let client = try connect(fixture)
    client.get("/targets/file.bin")
    #expect(client.bytes.suffix(1_000).elementsEqual(ServerFixture.file))
  }

  @Test("Invalid certificates, and TLS rules without a certificate, are refused")
  func refusals() throws {
    for (chain, key) in [
      ("right.pem", "wrong.key"), ("right.key", "right.pem"), ("right.pem", "right.pem"),
    ] {
      let error = #expect(throws: ContentError.self) {
        try ServerFixture { $0.certificate = certificate(chain, key) }
      }
      #expect(error?.code == .usage)
      #expect(error?.message.contains(chain) == true)
    }
    #expect(
      #expect(throws: ContentError.self) {
        try ServerFixture { $0.certificate = certificate("nothing.pem", "right.key") }
      }?.code == .fileMissing)
    let plain = try ServerFixture()
    let error = #expect(throws: ContentError.self) {
      try plain.server.setFaults(FaultScript("* tls close once"))
    }
    #expect(error?.code == .usage)
    #expect(error?.message.contains("* tls close once") == true)
  }
}
