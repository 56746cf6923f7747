import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// What a server does with a request for the sample file.
///
/// `right` is the correct answer.
typealias Misdeed =
  @Sendable (
    _ request: ScriptedServer.Request, _ file: SampleFile, _ right: ScriptedServer.Answer
  ) -> ScriptedServer.Answer

@Suite("Pieces from faulty servers", .waiting, .timeLimit(.hang))
struct HostilePieceTests {
  private static let file = try? SampleFile(
    length: 300_000, pieces: [10_000, 300, 64_000, 1, 25_000])

  private func sample() throws -> SampleFile { try #require(Self.file) }

  /// Faults with their errors if they are permanent, or nil if the bytes are fetched anyway.
  struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let lasting: ContentError.Code?
    let misdeed: Misdeed

    /// Uses a short timeout, but only for idle answers.
    func change(_ configuration: inout HTTPConfiguration) {
      if lasting == .transferStalled { configuration.stallTimeout = 0.3 }
      if lasting == .serverBusy { configuration.retry.busyTimeout = 1 }
    }

    init(_ name: String, _ lasting: ContentError.Code?, _ misdeed: @escaping Misdeed) {
      testDescription = name
      self.lasting = lasting
      self.misdeed = misdeed
    }
  }

  static let faults: [Fault] = [
    Fault("500", .serverFailed) { _, _, _ in .http("500 Oh", body: Array("oh".utf8)) },
    Fault("503 with Retry-After", .serverBusy) { _, _, _ in
      .http("503 Busy", ["Retry-After: 0"])
    },
    Fault("429", .serverBusy) { _, _, _ in .http("429 Slow", ["Retry-After: 0"]) },
    Fault("404", .storeMissing) { _, _, _ in .http("404 No", body: Array("no".utf8)) },
    Fault("403", .accessDenied) { _, _, _ in .http("403 No") },
    Fault("400", .requestRefused) { _, _, _ in .http("400 No") },
    Fault("204", .requestRefused) { _, _, _ in .http("204 Nothing", length: .some(nil)) },
    Fault("304", .requestRefused) { _, _, _ in .http("304 Same", length: .some(nil)) },
    Fault("200 to a range", nil) { _, file, _ in .http("200 OK", body: file.bytes) },
    Fault("200 without a length", nil) { _, file, _ in
      .http("200 OK", body: file.bytes, length: .some(nil), then: .close)
    },
    Fault("a longer 200", .answerUnusable) { _, file, _ in
      .http("200 OK", body: file.bytes + [0])
    },
    Fault("a 200 that is too short", .answerUnusable) { _, file, _ in
      .http("200 OK", body: Array(file.bytes.dropLast()))
    },
    Fault("a 200 that ends early", .connectionLost) { _, file, _ in
      .http("200 OK", body: [], length: file.bytes.count, then: .close)
    },
    Fault("an endless body", nil) { _, file, _ in
      .init(
        Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + file.bytes + [UInt8](repeating: 0, count: 1 << 20),
        then: .hang)
    },
    Fault("a login page", .answerUnusable) { _, _, _ in
      .http(
        "200 OK", ["Content-Type: text/html; charset=utf-8"], body: Array("<html>".utf8),
        length: .some(nil), then: .close)
    },
    Fault("unrequested gzip", .answerUnusable) { _, file, _ in
      .http("200 OK", ["Content-Encoding: gzip"], body: file.bytes)
    },
    Fault("416 without a length", .requestRefused) { _, _, _ in .http("416 No") },
    Fault("416 with another length", .answerUnusable) { _, _, _ in
      .http("416 No", ["Content-Range: bytes */17"])
    },
    Fault("206 without Content-Range", .answerUnusable) { _, _, right in
      .http("206 Part", body: [1, 2, 3])
    },
    Fault("206 of another range", .answerUnusable) { _, file, _ in
      .http("206 Part", ["Content-Range: bytes 0-2/300000"], body: Array(file.bytes[..<3]))
    },
    Fault("206 of another file", .answerUnusable) { request, file, _ in
      let range = request.range ?? 0...9
      return .http(
        "206 Part",
        ["Content-Range: bytes \(range.lowerBound)-\(range.upperBound)/300001"],
        body: Array(repeating: 0, count: range.count))
    },
    Fault("an inconsistent 206", .answerUnusable) { request, file, _ in
      .http("206 Part", ["Content-Range: bytes 50000-60000/300000"], body: [1])
    },
    Fault("several parts", .answerUnusable) { _, _, _ in
      .http(
        "206 Part", ["Content-Type: multipart/byteranges; boundary=x"], body: Array("--x".utf8))
    },
    Fault("damaged bytes", .pieceDamaged) { request, file, right in
      var damaged = right
      damaged.bytes[damaged.bytes.count - 1] ^= 1
      return damaged
    },
    Fault("cut in the head", .connectionLost) { _, _, right in
      .init(Array(right.bytes.prefix(10)), then: .close)
    },
    Fault("reset at once", .networkFailed) { _, _, _ in .init([], then: .reset) },
    Fault("no answer", .transferStalled) { _, _, _ in .init([], then: .hang) },
    Fault("a stall in the body", .transferStalled) { _, _, right in
      .init(Array(right.bytes.prefix(400)), then: .hang)
    },
    Fault("a redirect to itself", .tooManyRedirects) { request, _, _ in
      .http("302 There", ["Location: \(request.path)"])
    },
    Fault("a redirect to a file", .redirectRefused) { _, _, _ in
      .http("302 There", ["Location: file:///etc/passwd"])
    },
    Fault("huge headers", .answerUnusable) { _, file, _ in
      .http("200 OK", ["X: \(String(repeating: "x", count: 80_000))"], body: file.bytes)
    },
    Fault("an answer that is not HTTP", .answerUnusable) { _, _, _ in
      .init([1, 2, 3, 13, 10], then: .close)
    },
  ]

  /// Fetches the pieces from the second on, so that a range must be requested.
  private func fetch(
    _ file: SampleFile, from server: ScriptedServer,
    change: (inout HTTPConfiguration) -> Void = { _ in }
  ) throws -> Sink {
    let source = try HTTPPieceSource(at: server.url(), change: change)
    let sink = Sink(for: file)
    let wanted = Array(file.pieces.dropFirst(2))
    try source.fetch(wanted, of: file.signed, ticket: TransferTicket(), deliver: sink.take)
    return sink
  }

  @Test("A single fault is retried in the same fetch", .slow, arguments: faults)
  func once(fault: Fault) throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      let right = ScriptedServer.Answer.file(file.bytes, request)
      return request.number == 1 ? fault.misdeed(request, file, right) : right
    }
    let sink = try fetch(file, from: server, change: fault.change)
    let start = Int(file.pieces[2].offset)
    #expect(sink.bytes[start...] == file.bytes[start...])
    #expect(sink.delivered.sorted() == file.pieces.dropFirst(2).map(\.offset))
  }

  @Test("A permanent fault ends with correct bytes or its own error", .slow, arguments: faults)
  func always(fault: Fault) throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      fault.misdeed(request, file, .file(file.bytes, request))
    }
    let found = code { _ = try fetch(file, from: server, change: fault.change) }
    #expect(found == fault.lasting)
    #expect(server.requests.count <= 40)
  }

  @Test("Another mirror is used after a permanent fault at one mirror", arguments: faults)
  func mirror(fault: Fault) throws {
    let file = try sample()
    let bad = try ScriptedServer { request in
      fault.misdeed(request, file, .file(file.bytes, request))
    }
    let good = try ScriptedServer { .file(file.bytes, $0) }
    let source = try HTTPPieceSource(at: bad.url(), good.url()) {
      fault.change(&$0)
      // A wait for the faulty mirror would be visible.
      $0.retry.firstDelay = 30
      $0.retry.longestDelay = 30
    }
    #expect(try source.fetch(file).bytes == file.bytes)
  }

  @Test("Mirrors that lack a file or deny access are tried twice each")
  func lackingMirrors() throws {
    let file = try sample()
    let servers = try ["404 No", "403 No", "410 Gone"].map { status in
      try ScriptedServer { _ in .http(status) }
    }
    let source = try HTTPPieceSource(at: servers[0].url(), servers[1].url(), servers[2].url())
    let found = code { _ = try source.fetch(file) }
    #expect(found == .storeMissing || found == .accessDenied)
    #expect(servers.map(\.requests.count) == [2, 2, 2])
  }

  @Test("A mirror that lacks a file is not used any more, but a busy one is")
  func busyMirror() throws {
    let file = try sample()
    let lacking = try ScriptedServer { _ in .http("404 No") }
    let busy = try ScriptedServer { request in
      request.number < 4 ? .http("500 Oh") : .file(file.bytes, request)
    }
    let source = try HTTPPieceSource(at: lacking.url(), busy.url())
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(lacking.requests.count <= 2)
    #expect(busy.requests.count == 4)
  }

  @Test("Only the wrong piece of a range is fetched again")
  func onlyTheWrongPiece() throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      var answer = ScriptedServer.Answer.file(file.bytes, request)
      let inThird = answer.bytes.count - file.bytes.count + Int(file.pieces[2].offset) + 5
      if request.number == 1 { answer.bytes[inThird] ^= 1 }
      return answer
    }
    let ticket = TransferTicket()
    let source = try HTTPPieceSource(at: server.url())
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    let wrong = file.pieces[2]
    #expect(server.requests.map(\.range) == [nil, Int(wrong.offset)...Int(wrong.end - 1)])
    #expect(ticket.statistics.failures == [:] || ticket.statistics.failures.count == 1)
    #expect(ticket.statistics.bytesWasted == Int64(wrong.length))
  }

  @Test("Pieces that arrived before an interruption are kept")
  func cutsAreResumed() throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      let answer = ScriptedServer.Answer.file(file.bytes, request)
      return .init(Array(answer.bytes.prefix(100_000)), then: .close)
    }
    let ticket = TransferTicket()
    let sink = try HTTPPieceSource(at: server.url()).fetch(file, ticket: ticket)
    #expect(sink.bytes == file.bytes)
    #expect(sink.delivered.count == file.pieces.count)
    #expect(ticket.statistics.bytesWasted <= 64_000 * Int64(server.requests.count))
  }

  @Test("A range that is shorter than requested is used, and the rest requested")
  func shortRanges() throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      guard let range = request.range else { return .http("501 No") }
      let end = min(range.lowerBound + 65_000, range.upperBound)
      return .http(
        "206 Part", ["Content-Range: bytes \(range.lowerBound)-\(end)/*"],
        body: Array(file.bytes[range.lowerBound...end]))
    }
    #expect(try fetch(file, from: server).delivered.count == file.pieces.count - 2)
  }

  @Test("A range that starts earlier than requested is used")
  func shiftedRanges() throws {
    let file = try sample()
    let server = try ScriptedServer { request in
      let range = (request.range ?? 0...0)
      let start = max(0, range.lowerBound - 1000)
      return .http(
        "206 Part", ["Content-Range: bytes \(start)-\(range.upperBound)/300000"],
        body: Array(file.bytes[start...range.upperBound]))
    }
    #expect(try fetch(file, from: server).delivered.count == file.pieces.count - 2)
    #expect(server.requests.count == 1)
  }

  @Test("If the sink throws, no more pieces are delivered and its error is thrown")
  func sinkThrows() throws {
    let file = try sample()
    let server = try ScriptedServer { .file(file.bytes, $0) }
    var count = 0
    let source = try HTTPPieceSource(at: server.url())
    let found = code {
      try source.fetch(file.pieces, of: file.signed, ticket: TransferTicket()) { _, _ in
        count += 1
        if count == 3 { throw ContentError(.diskFull, "Full", remedy: "Free") }
      }
    }
    #expect(found == .diskFull)
    #expect(count == 3)
  }

  @Test(
    "A cancelled ticket ends a fetch that waits for an answer or a retry",
    arguments: [true, false])
  func cancel(silent: Bool) throws {
    let file = try sample()
    let ticket = TransferTicket()
    let server = try ScriptedServer { _ in
      ticket.cancel()
      return silent ? .init([], then: .hang) : .http("503 Busy", ["Retry-After: 60"])
    }
    let source = try HTTPPieceSource(at: server.url()) { $0.stallTimeout = 60 }
    #expect(code { _ = try source.fetch(file, ticket: ticket) } == .stopped)
  }

  @Test("A waiting transfer reports why and until when")
  func waiting() async throws {
    let file = try sample()
    let server = try ScriptedServer { _ in .http("503 Busy", ["Retry-After: 50"]) }
    let source = try HTTPPieceSource(at: server.url())
    let ticket = TransferTicket()
    let began = Date()
    let worker = Task {
      await onOwnThread { code { _ = try source.fetch(file, ticket: ticket) } }
    }
    var wait: TransferWait?
    await waitUntil {
      if case .waiting(let found) = ticket.status { wait = found }
      return wait?.until != nil
    }
    ticket.cancel()
    #expect(await worker.value == .stopped)
    guard case .serverAsked(code: let code, message: _) = wait?.reason else {
      Issue.record("\(String(describing: wait))")
      return
    }
    #expect(code == .serverBusy)
    #expect(wait?.host == "127.0.0.1")
    let until = try #require(wait?.until)
    #expect((began...(Date() + 50)).contains(until))
  }

  @Test("Invalid pieces are refused before any request")
  func impossiblePieces() throws {
    let file = try sample()
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let source = try HTTPPieceSource(at: server.url())
    let digest = file.pieces[0].digest
    let tables: [[Piece]] = [
      [Piece(offset: -1, length: 5, digest: digest)],
      [Piece(offset: 0, length: -5, digest: digest)],
      [Piece(offset: 299_999, length: 2, digest: digest)],
      [Piece(offset: 0, length: 5, digest: digest), Piece(offset: 4, length: 5, digest: digest)],
      [Piece(offset: 0, length: .max, digest: digest)],
      [Piece(offset: .max, length: 1, digest: digest)],
    ]
    for pieces in tables {
      let found = code {
        try source.fetch(pieces, of: file.signed, ticket: TransferTicket()) { _, _ in }
      }
      #expect(found == .storeDamaged)
    }
    #expect(server.requests.isEmpty)
  }
}
