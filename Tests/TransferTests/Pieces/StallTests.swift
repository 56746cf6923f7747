import HostedModel
import HostedTransfer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Answers that stall", .waiting, .timeLimit(.hang))
struct StallTests {
  private static let file = try? SampleFile(length: 4_000_000, pieces: [8_000])

  private func sample() throws -> SampleFile { try #require(Self.file) }

  private func change(_ configuration: inout HTTPConfiguration) {
    configuration.stallTimeout = 10
    configuration.idleTimeout = 0.3
  }

  /// Sends the first `share` of the correct answer, and then stalls.
  private static func silent(
    _ file: SampleFile, _ request: ScriptedServer.Request, after share: Double
  ) -> ScriptedServer.Answer {
    let right = ScriptedServer.Answer.file(file.bytes, request).bytes
    return .init(Array(right.prefix(Int(Double(right.count) * share))), then: .hang)
  }

  @Test(
    "A second connection fetches the rest of a stalled answer, with little overlap",
    arguments: [0, 0.25, 0.9])
  func once(share: Double) throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      request.number == 1
        ? Self.silent(file, request, after: share) : .file(file.bytes, request)
    }
    let ticket = TransferTicket()
    let source = try HTTPPieceSource(at: server.url(), change: change)
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    // It did not fail after the long timeout, but ended when the second request delivered.
    #expect(ticket.statistics.failures == [:])
    #expect(ticket.statistics.bytesWasted <= file.signed.length / 20)
    #expect(Set(server.requests.prefix(2).map(\.connection)).count == 2)
  }

  @Test("A file is fetched even if each long answer stalls after a quarter", .slow)
  func every() throws { try fetch(sample(), stallingAbove: 500_000) }

  @Test("A piece is fetched even if each long answer stalls after a quarter of it", .slow)
  func partOfPiece() throws {
    try fetch(SampleFile(length: 1_000_000, pieces: [1_000_000]), stallingAbove: 200_000)
  }

  /// Fetches a file whose answers with more than `limit` bytes stall after a quarter.
  private func fetch(_ file: SampleFile, stallingAbove limit: Int) throws {
    let server = try ScriptedServer { request in
      (request.range?.count ?? file.bytes.count) > limit
        ? Self.silent(file, request, after: 0.25) : .file(file.bytes, request)
    }
    let ticket = TransferTicket()
    let source = try HTTPPieceSource(at: server.url(), change: change)
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(ticket.statistics.failures == [:])
    #expect(ticket.statistics.bytesWasted <= file.signed.length / 20)
  }

  @Test("Another mirror fetches the rest of a stalled answer, and continues")
  func otherMirror() throws {
    let file = try sample()
    let silent = try ScriptedServer { Self.silent(file, $0, after: 0.25) }
    let right = try ScriptedServer { .file(file.bytes, $0) }
    let ticket = TransferTicket()
    let source = try HTTPPieceSource(at: silent.url(), right.url(), change: change)
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(ticket.statistics.failures == [:])
    #expect(silent.requests.count <= 2)
  }

  @Test("A gap that is shorter than the idle timeout causes no second request", .slow)
  func gap() throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      var answer = ScriptedServer.Answer.file(file.bytes, request)
      answer.delay = 1.2
      return answer
    }
    let source = try HTTPPieceSource(at: server.url()) { $0.idleTimeout = 2 }
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(server.requests.count == 1)
  }

  @Test("A refused second request is not a failure, and is not repeated at that host", .slow)
  func refused() throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      switch request.number {
      case 1: Self.silent(file, request, after: 0.25)
      case 2: .http("503 Busy", ["Retry-After: 0"])
      default: .file(file.bytes, request)
      }
    }
    let ticket = TransferTicket()
    let source = try HTTPPieceSource(at: server.url()) {
      change(&$0)
      $0.stallTimeout = 3
      $0.retry.attempts = 2
    }
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(ticket.statistics.failures == ["status 503": 1, "stalled": 1])
    #expect(server.requests.count == 3)
  }

  @Test("An answer that never arrives fails with its own error", .slow)
  func never() throws {
    let file = try sample()
    let server = try ScriptedServer { Self.silent(file, $0, after: 0) }
    let source = try HTTPPieceSource(at: server.url()) {
      change(&$0)
      $0.stallTimeout = 1
    }
    #expect(code { _ = try source.fetch(file) } == .transferStalled)
    // Five attempts for each of two ranges, and second requests.
    #expect(server.requests.count <= 20)
  }

  @Test("A small answer that stalls is requested again long before the deadline", .slow)
  func smallAnswer() throws {
    let server = try ScriptedServer { request in
      request.number == 1 ? .init([], then: .hang) : .http("200 OK", body: [7])
    }
    var configuration = impatientConfiguration()
    configuration.stallTimeout = 600
    configuration.idleTimeout = 0.3
    let session = try HTTPSession(configuration)
    var request = TransferRequest(try WebURL(server.url()), limit: 10)
    request.deadline = 30
    #expect(try session.send(request).body == [7])
    #expect(server.requests.count == 2)
  }
}
