import HostedModel
@testable import HostedTransfer
import Dispatch
import HostedFileIO
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Limits, priorities and several transfers at once", .waiting, .timeLimit(.hang))
struct LimitTests {
  @Test("A rate limit keeps the bytes correct, and can change during a transfer")
  func rate() throws {
    let file = try SampleFile(length: 3_000_000, pieces: [50_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let source = try HTTPPieceSource(at: server.url()) {
      $0.limits.bytesPerSecond = 200_000
      $0.limits.bytesPerSecondPerHost = 300_000
    }
    let sink = Sink(for: file)
    try source.fetch(file.pieces, of: file.signed, ticket: TransferTicket()) { piece, bytes in
      sink.take(piece, bytes)
      // It would take fifteen seconds. The change applies to running transfers.
      source.session.limits.bytesPerSecond = nil
      source.session.limits.bytesPerSecondPerHost = nil
    }
    #expect(sink.bytes == file.bytes)
  }

  @Test("The limits of parallel requests apply in total and per package", .slow)
  func connections() throws {
    let file = try SampleFile(length: 40 << 20, pieces: [1 << 20])
    let open = OpenRequests()
    let server = try ScriptedServer { request in open.counting { .file(file.bytes, request) } }
    let source = try HTTPPieceSource(at: server.url()) { $0.limits.connectionsPerTransfer = 2 }
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(open.most <= 2)
    #expect(Set(server.requests.map(\.connection)).count <= 2)
  }

  @Test("Limits and timeouts may be as high or as low as their types allow")
  func extremeSettings() throws {
    let file = try SampleFile(length: 1_000_000, pieces: [1000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    for count in [Int.min, .max] {
      let source = try HTTPPieceSource(at: server.url()) {
        $0.limits.connections = count
        $0.limits.connectionsPerHost = count
        $0.limits.connectionsPerTransfer = count
        $0.limits.smallRequestsPerTransfer = count
        $0.limits.memory = count
        $0.limits.bytesPerSecond = Int64.max
        $0.connectTimeout = count == .max ? .infinity : 5
      }
      #expect(try source.fetch(file).bytes == file.bytes)
      source.session.loop.distances.note(0.000_02, to: source.mirrors[0].origin)
      #expect(try source.fetch(file).bytes == file.bytes)
    }
  }

  @Test("A package is fetched over one connection from a nearby server", .slow)
  func nearServer() throws {
    let file = try SampleFile(length: 40 << 20, pieces: [1 << 20])
    let open = OpenRequests()
    let server = try ScriptedServer { request in open.counting { .file(file.bytes, request) } }
    let source = try HTTPPieceSource(at: server.url())
    let first = [file.pieces[0]]
    try source.fetch(first, of: file.signed, ticket: TransferTicket()) { _, _ in }
    let address = try WebURL(server.url())
    // On a busy machine, a handshake may take as long as with a distant server.
    let isNear = source.session.connections(to: address) == (1, 2)
    #expect(try source.fetch(file).bytes == file.bytes)
    let isStillNear = source.session.connections(to: address) == (1, 2)
    #expect(open.most <= (isNear && isStillNear ? 1 : 2))
  }

  @Test("Several small ranges are requested at a time without waiting for answers")
  func smallRanges() throws {
    let file = try SampleFile(length: 4 << 20, pieces: [1000, 40_000])
    let open = OpenRequests()
    let server = try ScriptedServer { request in
      open.counting {
        open.wait(for: 6)
        return .file(file.bytes, request)
      }
    }
    let source = try HTTPPieceSource(at: server.url())
    let small = file.pieces.filter { $0.length == 1000 }
    var taken: [Int64] = []
    try source.fetch(small, of: file.signed, ticket: TransferTicket()) { piece, _ in
      taken.append(piece.offset)
    }
    #expect(taken.sorted() == small.map(\.offset))
    #expect(open.most == 6)
  }

  @Test("A slow sink slows the network down, so memory stays limited", .slow)
  func slowSink() throws {
    let file = try SampleFile(length: 30 << 20, pieces: [100_000])
    let server = try Self.server(of: file)
    let source = try HTTPPieceSource(at: server.url()) { $0.limits.connectionsPerTransfer = 1 }
    let ticket = TransferTicket()
    var taken: Int64 = 0
    var most: Int64 = 0
    try source.fetch(file.pieces, of: file.signed, ticket: ticket) { piece, _ in
      if piece.offset == 0 {
        // Until no more bytes arrive, when all slabs are in use. The limit applies at any time.
        var before: Int64 = -1
        while ticket.statistics.bytesReceived != before {
          before = ticket.statistics.bytesReceived
          try Self.letReceive(source.session, server)
        }
      }
      taken += Int64(piece.length)
      most = max(most, ticket.statistics.bytesReceived - taken)
    }
    #expect(taken == file.signed.length)
    #expect(most <= 4 * 128 << 10)
  }

  @Test("Pieces that another thread keeps do not change, and the source waits for them", .slow)
  func lentPieces() throws {
    let file = try SampleFile(length: 20 << 20, pieces: [100_000, 700])
    let server = try Self.server(of: file)
    let source = try HTTPPieceSource(at: server.url())
    let kept = Mutex<[(piece: Piece, bytes: LentBytes)]>([])
    let found = Mutex((right: 0, wrong: 0, most: 0))
    let isOver = Mutex(false)
    // Returns nothing until all slabs are lent, which is when no more bytes arrive.
    let keeper = DispatchQueue(label: "keeper")
    let end = DispatchGroup()
    keeper.async(group: end) {
      var before = -1
      while true {
        let (isLast, count) = (isOver.withLock { $0 }, kept.withLock { $0.count })
        if count == before || isLast {
          let lent = kept.withLock { kept in
            defer { kept = [] }
            return kept
          }
          for (piece, bytes) in lent {
            let expected = file.bytes[Int(piece.offset)..<Int(piece.end)]
            let isRight = bytes.withBytes { $0.elementsEqual(expected) }
            found.withLock { if isRight { $0.right += 1 } else { $0.wrong += 1 } }
          }
          found.withLock { $0.most = max($0.most, lent.reduce(0) { $0 + $1.bytes.count }) }
          before = -1
        } else {
          before = count
        }
        if isLast { return }
        try? Self.letReceive(source.session, server)
      }
    }
    do {
      defer {
        isOver.withLock { $0 = true }
        end.wait()
      }
      try source.fetch(file.pieces, of: file.signed, ticket: TransferTicket()) { piece, bytes in
        kept.withLock { $0.append((piece, bytes)) }
      }
    }
    #expect(found.withLock { $0.right } == file.pieces.count && found.withLock { $0.wrong } == 0)
    // Six slabs over one or two connections, and those of a range that ended before the next one
    // started.
    #expect((1...12 * 128 << 10).contains(found.withLock { $0.most }))
  }

  private static func server(of file: SampleFile) throws -> ScriptedServer {
    try ScriptedServer { request in
      request.path == "/other" ? .http("200 OK", body: [1]) : .file(file.bytes, request)
    }
  }

  /// Fetches something else several times, so that the session's thread also receives what has
  /// arrived for its other requests.
  private static func letReceive(_ session: HTTPSession, _ server: ScriptedServer) throws {
    let request = TransferRequest(try WebURL(server.url("/other")), limit: 1)
    for _ in 0..<20 { _ = try session.send(request) }
  }

  @Test("Many parallel transfers in one session each get their bytes")
  func many() throws {
    let files = try (0..<40).map {
      try SampleFile(path: "\($0)", length: 5000 * ($0 + 1), pieces: [3000], seed: UInt64($0))
    }
    let server = try ScriptedServer { request in
      .file(files[Int(request.path.dropFirst()) ?? 0].bytes, request)
    }
    let source = try HTTPPieceSource(at: server.url())
    DispatchQueue.concurrentPerform(iterations: files.count) { number in
      let bytes = try? source.fetch(files[number]).bytes
      #expect(bytes == files[number].bytes)
    }
    #expect(source.session.statistics.failures == [:])
    #expect(Set(server.requests.map(\.connection)).count <= 8)
  }

  @Test("Closing the session ends its transfers")
  func close() throws {
    let file = try SampleFile(length: 1000, pieces: [1000])
    let session = Mutex<HTTPSession?>(nil)
    let server = try ScriptedServer { _ in
      session.withLock { $0?.close() }
      return .init([], then: .hang)
    }
    let source = try HTTPPieceSource(at: server.url())
    session.withLock { $0 = source.session }
    #expect(code { _ = try source.fetch(file) } == .stopped)
    session.withLock { $0 = nil }
  }

  @Test("Each call that closes a session waits for its thread")
  func closedTwice() throws {
    let (isRunning, mayContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    var configuration = impatientConfiguration()
    configuration.fixedAddresses = {
      // On the session's thread.
      isRunning.signal()
      mayContinue.wait()
      mayContinue.signal()
      return []
    }
    let session = try HTTPSession(configuration)
    let request = TransferRequest(try WebURL("http://127.0.0.1:1/"), limit: 1)
    let sending = ThreadCall { _ = try? session.send(request) }
    isRunning.wait()
    let closing = (0..<2).map { _ in ThreadCall { session.close() } }
    for call in closing { #expect(call.isWaiting()) }
    mayContinue.signal()
    for call in closing + [sending] { call.wait() }
  }

  @Test("The limits that are set last apply, also after changes in several threads")
  func changedLimits() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [1]) }
    let request = TransferRequest(try WebURL(server.url()), limit: 1)
    for _ in 0..<50 {
      let session = try HTTPSession(impatientConfiguration())
      _ = try session.send(request)
      DispatchQueue.concurrentPerform(iterations: 8) { number in
        var limits = TransferLimits()
        limits.connections = number + 1
        session.limits = limits
      }
      // Afterwards, no thread changes the schedule.
      session.close()
      #expect(session.loop.schedule.limits == session.limits)
    }
  }

  @Test("Calls in other threads end when the session is closed meanwhile")
  func closedMeanwhile() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [1]) }
    let request = TransferRequest(try WebURL(server.url()), limit: 1)
    for _ in 0..<20 {
      let session = try HTTPSession(impatientConfiguration())
      DispatchQueue.concurrentPerform(iterations: 8) { number in
        if number == 3 { session.close() } else { _ = try? session.send(request) }
      }
      #expect(code { _ = try session.send(request) } == .stopped)
    }
  }

  @Test("A changed priority applies to requests that wait")
  func changedPriority() async throws {
    let mayAnswer = DispatchSemaphore(value: 0)
    let server = try ScriptedServer { request in
      if request.path == "/first" { mayAnswer.wait() }
      return .http("200 OK", body: [1])
    }
    // The first request is silent until the others wait.
    var configuration = impatientConfiguration(stallTimeout: 600)
    configuration.limits.connections = 1
    let session = try HTTPSession(configuration)
    let raised = TransferTicket()
    let tickets = [("first", TransferTicket()), ("other", TransferTicket()), ("raised", raised)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (name, ticket) in tickets {
        var request = TransferRequest(try WebURL(server.url("/\(name)")), limit: 1)
        (request.ticket, request.deadline) = (ticket, 600)
        group.addTask { [request] in
          try await onOwnThread { _ = try session.send(request) }
        }
        await waitUntil { ticket.status != .idle }
      }
      raised.priority = 1
      mayAnswer.signal()
      try await group.waitForAll()
    }
    #expect(server.requests.map(\.path) == ["/first", "/raised", "/other"])
  }

  @Test("A failure that is retried is counted by its reason", .slow)
  func counted() throws {
    let file = try SampleFile(length: 1000, pieces: [1000])
    let server = try ScriptedServer { request in
      request.number == 1 ? .http("503 Busy", ["Retry-After: 0"]) : .file(file.bytes, request)
    }
    let source = try HTTPPieceSource(at: server.url())
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(server.requests.count == 3)
    #expect(source.session.statistics.failures == ["status 503": 1])
  }
}

/// Counts the requests that a server handles in parallel.
private final class OpenRequests: Sendable {
  private let count = Watched((now: 0, most: 0))

  var most: Int { count.value.most }

  /// Blocks until the server has handled `number` requests in parallel.
  func wait(for number: Int) { count.block { $0.most >= number } }

  func counting<Value>(_ answer: () -> Value) -> Value {
    count.change {
      $0.now += 1
      $0.most = max($0.most, $0.now)
    }
    defer { count.change { $0.now -= 1 } }
    return answer()
  }
}
