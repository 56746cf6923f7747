import HostedModel
import HostedTransfer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Files that were replaced by others of the same length", .waiting, .timeLimit(.hang))
struct WrongBytesTests {
  private static let file = try? SampleFile(length: 12 << 20, pieces: [64 << 10])

  private func sample() throws -> SampleFile { try #require(Self.file) }

  /// A server whose first `count` answers have only wrong bytes.
  private func server(of file: SampleFile, wrong count: Int = .max) throws -> ScriptedServer {
    let wrong = file.bytes.map { ~$0 }
    return try ScriptedServer { .file($0.number <= count ? wrong : file.bytes, $0) }
  }

  @Test("A file that is wrong on every server fails before its length was transferred", .slow)
  func everywhere() throws {
    let file = try sample()
    for count in 1...2 {
      let servers = try (0..<count).map { _ in try server(of: file) }
      let mirrors = try servers.map { try WebURL($0.url()) }
      let source = try HTTPPieceSource(HTTPSession(impatientConfiguration()), mirrors: mirrors)
      let ticket = TransferTicket()
      #expect(code { _ = try source.fetch(file, ticket: ticket) } == .pieceDamaged)
      #expect(ticket.statistics.bytesReceived < file.signed.length)
      #expect(servers.allSatisfy { (2...4).contains($0.requests.count) })
    }
  }

  @Test("A mirror with a wrong file is left for one with the correct file", .slow)
  func otherMirror() throws {
    let file = try sample()
    let wrong = try server(of: file)
    let right = try ScriptedServer { .file(file.bytes, $0) }
    let source = try HTTPPieceSource(at: wrong.url(), right.url()) {
      $0.retry.firstDelay = 30
      $0.retry.longestDelay = 30
    }
    let ticket = TransferTicket()
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(ticket.statistics.bytesWasted < file.signed.length / 2)
  }

  @Test("A single answer with only wrong bytes is retried in the same fetch", .slow)
  func heals() throws {
    let file = try sample()
    let server = try server(of: file, wrong: 1)
    let source = try HTTPPieceSource(at: server.url())
    #expect(try source.fetch(file).bytes == file.bytes)
  }
}
