import HostedModel
import HostedTransfer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Servers that send little for each request", .waiting, .timeLimit(.hang))
struct DrippingServerTests {
  /// After so many requests a test ends a transfer that does not end by itself.
  private static let requestLimit = 60

  private func change(_ configuration: inout HTTPConfiguration) {
    configuration.stallTimeout = 1
    configuration.idleTimeout = 0.3
    configuration.retry.attempts = 2
  }

  /// The head and the first `count` bytes of the right answer.
  private static func beginning(
    _ file: SampleFile, _ request: ScriptedServer.Request, _ count: Int
  ) -> [UInt8] {
    let length = request.range?.count ?? file.bytes.count
    return ScriptedServer.Answer.file(file.bytes, request).bytes.dropLast(length - count)
  }

  @Test(
    "A server that sends a few bytes of each answer, and then nothing, is given up", .slow,
    arguments: [nil, 0, 10, 4000])
  func silent(count: Int?) throws {
    let file = try SampleFile(length: 100_000, pieces: [100_000])
    let ticket = TransferTicket()
    let server = try ScriptedServer { request in
      if request.number > Self.requestLimit { ticket.cancel() }
      return .init(count.map { Self.beginning(file, request, $0) } ?? [], then: .hang)
    }
    let source = try HTTPPieceSource(at: server.url(), change: change)
    #expect(code { _ = try source.fetch(file, ticket: ticket) } == .transferStalled)
  }

  @Test(
    "A file comes from a server that sends a tenth of it for each request, and then nothing", .slow,
    arguments: [100_000, 8000])
  func tenth(pieceLength: Int) throws {
    let file = try SampleFile(length: 100_000, pieces: [pieceLength])
    let ticket = TransferTicket()
    let server = try ScriptedServer { request in
      if request.number > Self.requestLimit { ticket.cancel() }
      guard (request.range?.count ?? file.bytes.count) > 10_000 else {
        return .file(file.bytes, request)
      }
      return .init(Self.beginning(file, request, 10_000), then: .hang)
    }
    let source = try HTTPPieceSource(at: server.url()) {
      change(&$0)
      $0.stallTimeout = 10
    }
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(ticket.statistics.failures == [:])
  }

  @Test(
    "Two mirrors that always send the same part of a piece, and then nothing, are given up", .slow)
  func mirrors() throws {
    let file = try SampleFile(length: 100_000, pieces: [100_000])
    let ticket = TransferTicket()
    let servers = try (0..<2).map { _ in
      try ScriptedServer { request in
        if request.number > Self.requestLimit { ticket.cancel() }
        return .init(
          Self.beginning(file, request, min(40_000, request.range?.count ?? 40_000)), then: .hang)
      }
    }
    var configuration = impatientConfiguration()
    change(&configuration)
    // A mirror that fell silent may be asked again at once.
    let session = try HTTPSession(configuration, random: { 0 })
    let source = try HTTPPieceSource(session, mirrors: servers.map { try WebURL($0.url()) })
    #expect(code { _ = try source.fetch(file, ticket: ticket) } == .transferStalled)
  }

  @Test(
    "With default settings 12 MB are given up after at most twelve answers that stall",
    .slow, arguments: [nil, 10, 4000])
  func defaults(count: Int?) async throws {
    let file = try SampleFile(length: 12_000_000, pieces: [128_000])
    let (found, requests) = try await onOwnThread {
      let server = try ScriptedServer { request in
        .init(count.map { Self.beginning(file, request, $0) } ?? [], then: .hang)
      }
      let source = try HTTPPieceSource(
        HTTPSession(HTTPConfiguration()), mirrors: [WebURL(server.url())])
      return (code { _ = try source.fetch(file) }, server.requests.count)
    }
    #expect(found == .transferStalled)
    // Seven to nine take 112 seconds.
    #expect(requests <= 12)
  }

  @Test("A server that never stops sending, but too slowly, is given up", .slow)
  func slow() throws {
    let file = try SampleFile(length: 100_000, pieces: [100_000])
    let ticket = TransferTicket()
    let server = try ScriptedServer { request in
      if request.number > Self.requestLimit { ticket.cancel() }
      return .init(
        Self.beginning(file, request, 0), then: .drip([UInt8](repeating: 7, count: 10), every: 0.1))
    }
    let source = try HTTPPieceSource(at: server.url()) {
      change(&$0)
      $0.minimumBytes = 1500
    }
    #expect(code { _ = try source.fetch(file, ticket: ticket) } == .transferStalled)
  }
}
