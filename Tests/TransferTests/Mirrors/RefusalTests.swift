import HostedTransfer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Servers that answer 429 or 503 for a while", .waiting, .timeLimit(.hang))
struct RefusalTests {
  @Test("Refusals of a small answer are retried longer than other failures", .slow)
  func patient() throws {
    let server = try ScriptedServer { request in
      request.number < 9 ? .http("503 Busy") : .http("200 OK", body: [7])
    }
    let session = try HTTPSession(impatientConfiguration())
    #expect(try session.send(TransferRequest(WebURL(server.url()), limit: 10)).body == [7])
    #expect(server.requests.count == 9)
  }

  @Test("Refusals of a piece are retried longer than other failures", .slow)
  func patientPieces() throws {
    let file = try SampleFile(length: 1000, pieces: [1000])
    let server = try ScriptedServer { request in
      request.number < 9 ? .http("429 Slow") : .file(file.bytes, request)
    }
    #expect(try HTTPPieceSource(at: server.url()).fetch(file).bytes == file.bytes)
    #expect(server.requests.count == 9)
  }

  @Test("Another mirror is used while a host refuses")
  func otherMirror() throws {
    let file = try SampleFile(length: 1000, pieces: [1000])
    let busy = try ScriptedServer { _ in .http("503 Busy", ["Retry-After: 60"]) }
    let other = try ScriptedServer { .file(file.bytes, $0) }
    let source = try HTTPPieceSource(at: busy.url(), other.url())
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(busy.requests.count == 1)
  }
}
