import Concurrency
import ContentModel
import ContentTransfer
import TestSupport
import TestTraits
import Testing

@Suite("URLs that expire", .waiting, .timeLimit(.minutes(10)))
struct ExpiringURLTests {
  @Test("Each request of a file asks for its URL, so a URL can be for one request")
  func once() throws {
    let file = try SampleFile(length: 2_000_000, pieces: [20_000])
    let used = Mutex<Set<String>>([])
    let server = try ScriptedServer { request in
      guard used.withLock({ $0.insert(request.path).inserted }) else {
        return .http("403 Forbidden")
      }
      // The answer ends early, so that the rest needs other requests.
      var answer = ScriptedServer.Answer.file(file.bytes, request)
      if request.number <= 3 {
        answer = .init(Array(answer.bytes.dropLast(answer.bytes.count / 2)), then: .close)
      }
      return answer
    }
    let number = Atomic(0)
    let source = try HTTPPieceSource(
      HTTPSession(impatientConfiguration()), mirrors: [WebURL(server.url())]
    ) { mirror, file in
      let use = number.add(1, ordering: .relaxed).newValue
      return try WebURL("\(mirror.text)\(file.path)?use=\(use)")
    }
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(server.requests.count > 3)
    #expect(server.requests.count == number.load(ordering: .relaxed))
  }

  @Test("A file without a URL is not fetched, and the reason is thrown")
  func refused() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let source = try HTTPPieceSource(
      HTTPSession(impatientConfiguration()), mirrors: [WebURL(server.url())]
    ) { _, file in
      throw ContentError(.accessDenied, "No grant", remedy: "Buy it", subject: file.path)
    }
    #expect(code { _ = try source.fetch(file) } == .accessDenied)
    #expect(server.requests.isEmpty)
  }
}
