import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "Pieces from nginx", .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)),
  .waiting, .timeLimit(.hang))
struct NginxTests {
  private let folder: TemporaryFolder
  private let file: SampleFile

  init() throws {
    folder = try TemporaryFolder()
    file = try SampleFile(
      path: "targets/a file.pkg", length: 20_000_001, pieces: [5_000, 300_000, 17, 1_200_000])
    try FileManager.default.createDirectory(
      atPath: folder.path("targets"), withIntermediateDirectories: true)
    try Data(file.bytes).write(to: URL(filePath: folder.path(file.signed.path)))
  }

  @Test("A file is fetched with a few ranges, each piece once", .slow)
  func whole() throws {
    let server = try Nginx(serving: folder.path)
    let ticket = TransferTicket()
    let source = try HTTPPieceSource(at: server.url())
    let sink = try source.fetch(file, ticket: ticket)
    #expect(sink.bytes == file.bytes)
    #expect(sink.delivered.sorted() == file.pieces.map(\.offset))
    #expect(ticket.statistics.requests <= 8)
    #expect(ticket.statistics.bytesReceived == file.signed.length)
    #expect(ticket.statistics.bytesFetched == file.signed.length)
    #expect(ticket.statistics.bytesWasted == 0)
    #expect(ticket.statistics.protocolName == "HTTP/1.1")
    #expect(ticket.status == .idle)
    #expect(source.session.statistics.bytesFetched == file.signed.length)
  }

  @Test("Only missing pieces are requested, and neighbors together", .slow)
  func some() throws {
    let server = try Nginx(serving: folder.path)
    let source = try HTTPPieceSource(at: server.url())
    let sink = Sink(for: file)
    let wanted = Array(file.pieces[3...5] + file.pieces[40...42])
    let ticket = TransferTicket()
    try source.fetch(wanted.shuffled(), of: file.signed, ticket: ticket, deliver: sink.take)
    #expect(sink.delivered.sorted() == wanted.map(\.offset))
    for piece in wanted {
      let range = Int(piece.offset)..<Int(piece.end)
      #expect(sink.bytes[range] == file.bytes[range])
    }
    #expect(ticket.statistics.requests == 2)
    #expect(ticket.statistics.bytesReceived == ticket.statistics.bytesFetched)
  }

  @Test("A missing file is storeMissing after a second request", .slow)
  func missing() throws {
    let server = try Nginx(serving: folder.path)
    let other = try SampleFile(path: "targets/other", length: 100, pieces: [100])
    let source = try HTTPPieceSource(at: server.url())
    #expect(code { _ = try source.fetch(other) } == .storeMissing)
    #expect(source.session.statistics.failures == ["status 404": 2])
  }

  @Test("A server without ranges sends the whole file once", .slow)
  func withoutRanges() throws {
    let server = try Nginx(serving: folder.path, directives: "max_ranges 0;")
    let source = try HTTPPieceSource(at: server.url())
    #expect(try source.fetch(file).bytes == file.bytes)
    let some = Array(file.pieces.dropFirst(3).prefix(2))
    let sink = Sink(for: file)
    try source.fetch(some, of: file.signed, ticket: TransferTicket(), deliver: sink.take)
    #expect(sink.delivered.sorted() == some.map(\.offset))
  }

  @Test("Many small files are fetched over few connections", .slow)
  func many() throws {
    let server = try Nginx(serving: folder.path)
    let source = try HTTPPieceSource(at: server.url())
    let files = try (0..<200).map {
      try SampleFile(path: "targets/\($0)", length: 3000, pieces: [3000], seed: UInt64($0))
    }
    for file in files {
      try Data(file.bytes).write(to: URL(filePath: folder.path(file.signed.path)))
    }
    DispatchQueue.concurrentPerform(iterations: 8) { worker in
      for number in stride(from: worker, to: files.count, by: 8) {
        let bytes = try? source.fetch(files[number]).bytes
        #expect(bytes == files[number].bytes)
      }
    }
    #expect(Set(server.requests().compactMap { $0.split(separator: "|").last }).count <= 8)
  }
}
