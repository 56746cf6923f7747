import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "Mirrors with different speeds",
  .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)), .waiting,
  .timeLimit(.hang))
struct SlowMirrorTests {
  private let folder: TemporaryFolder
  private let file: SampleFile

  init() throws {
    folder = try TemporaryFolder()
    file = try SampleFile(path: "a.pkg", length: 8_000_000, pieces: [40_000, 70_000])
    try Data(file.bytes).write(to: URL(filePath: folder.path("a.pkg")))
  }

  private func bytes(from server: Nginx, in statistics: TransferStatistics) -> Int64 {
    statistics.bytesByHost["http://127.0.0.1:\(server.port)"] ?? 0
  }

  @Test("A much slower mirror is left, and the next file uses the faster one", .slow)
  func slowFirst() throws {
    let slow = try Nginx(serving: folder.path, directives: "limit_rate 100k;")
    let fast = try Nginx(serving: folder.path)
    let source = try HTTPPieceSource(at: slow.url(), fast.url()) { $0.stallTimeout = 15 }
    let ticket = TransferTicket()
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    let fromSlow = bytes(from: slow, in: ticket.statistics)
    #expect(fromSlow > 0)
    #expect(fromSlow < file.signed.length / 4)
    #expect(ticket.statistics.bytesWasted < file.signed.length / 20)
    let next = TransferTicket()
    #expect(try source.fetch(file, ticket: next).bytes == file.bytes)
    #expect(bytes(from: slow, in: next.statistics) == 0)
  }

  @Test("If the other mirror is even slower, the transfer returns to the first", .slow)
  func slowSecond() throws {
    let first = try Nginx(serving: folder.path, directives: "limit_rate 300k;")
    let slower = try Nginx(serving: folder.path, directives: "limit_rate 20k;")
    let source = try HTTPPieceSource(at: first.url(), slower.url()) { $0.stallTimeout = 15 }
    let ticket = TransferTicket()
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(bytes(from: slower, in: ticket.statistics) < file.signed.length / 8)
    #expect(ticket.statistics.bytesWasted < file.signed.length / 20)
  }

  @Test("A rate limit does not make a mirror count as slow", .slow)
  func ownLimit() throws {
    let (first, second) = (try Nginx(serving: folder.path), try Nginx(serving: folder.path))
    let source = try HTTPPieceSource(at: first.url(), second.url()) {
      $0.limits.bytesPerSecond = 700_000
    }
    let ticket = TransferTicket()
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(bytes(from: second, in: ticket.statistics) == 0)
  }
}
