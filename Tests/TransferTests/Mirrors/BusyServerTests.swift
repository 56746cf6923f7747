import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "Busy servers", .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)),
  .waiting, .timeLimit(.hang))
struct BusyServerTests {
  private let folder: TemporaryFolder
  private let file: SampleFile

  init() throws {
    folder = try TemporaryFolder()
    file = try SampleFile(path: "a.pkg", length: 200_000, pieces: [50_000])
    try Data(file.bytes).write(to: URL(filePath: folder.path("a.pkg")))
    try Data("small".utf8).write(to: URL(filePath: folder.path("small")))
  }

  /// Fetches two small answers and the file, as a client would, and returns the error code.
  private func download(_ session: HTTPSession, from server: Nginx) -> ContentError.Code? {
    code {
      let store = try WebURL(server.url())
      for _ in 0..<2 {
        let answer = try session.send(TransferRequest(store.appending("small"), limit: 10))
        #expect(answer.body == Array("small".utf8))
      }
      let source = try HTTPPieceSource(session, mirrors: [store])
      #expect(try source.fetch(file).bytes == file.bytes)
    }
  }

  private func concurrently(
    _ count: Int, _ body: @escaping @Sendable (Int) -> ContentError.Code?
  ) async -> [ContentError.Code?] {
    await withTaskGroup(of: ContentError.Code?.self) { group in
      for number in 0..<count { group.addTask { await onOwnThread { body(number) } } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test("Fifty clients get their file from a server that serves ten at a time", .slow)
  func limitedConnections() async throws {
    let server = try Nginx(
      serving: folder.path, zones: "limit_conn_zone $remote_addr zone=clients:1m;",
      directives: "limit_conn clients 10; limit_rate 100k;")
    // Each session has separate pauses, as separate processes would.
    let sessions = try (0..<50).map { _ in try HTTPSession() }
    let failures = await concurrently(50) { download(sessions[$0], from: server) }
    #expect(failures.allSatisfy { $0 == nil }, "\(failures)")
    let refusals = sessions.map { $0.statistics.failures["status 503", default: 0] }
    #expect(refusals.reduce(0, +) < 50 * 20, "\(refusals)")
  }

  @Test("Thirty packages are fetched from a server with five requests per second", .slow, .slow)
  func limitedRequests() async throws {
    let server = try Nginx(
      serving: folder.path, zones: "limit_req_zone $remote_addr zone=requests:1m rate=5r/s;",
      directives: "limit_req zone=requests;")
    let session = try HTTPSession()
    let failures = await concurrently(30) { _ in download(session, from: server) }
    #expect(failures.allSatisfy { $0 == nil }, "\(failures)")
    #expect(session.statistics.failures["status 503", default: 0] < 60)
  }
}
