import HostedHTTPValues
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Requests whose answers are examined", .timeLimit(.hang))
struct HTTPExamineTests {
  @Test("Any status and encoding is returned, with as much of the body as the limit allows")
  func anyAnswer() throws {
    let server = try ScriptedServer { _ in
      .http(
        "503 Service Unavailable", ["Content-Encoding: gzip", "Retry-After: 5"],
        body: Array("0123456789".utf8))
    }
    let session = try HTTPSession()
    let answer = try session.examine(TransferRequest(try WebURL(server.url("/a")), limit: 4))
    #expect(answer.status == 503)
    #expect(answer.head.encoding == "gzip")
    #expect(answer.head.contentLength == 10)
    #expect(answer.body == Array("0123".utf8))
    #expect(answer.isCut)
    #expect(answer.fault == nil)
    #expect(server.requests.count == 1)
  }

  @Test("An empty Content-Encoding is not an encoding, for any kind of request")
  func emptyEncoding() throws {
    let server = try ScriptedServer { _ in .http("200 OK", ["Content-Encoding: "], body: [7]) }
    let session = try HTTPSession()
    let request = TransferRequest(try WebURL(server.url("/a")), limit: 4)
    #expect(try session.examine(request).head.encoding == nil)
    #expect(try session.send(request).body == [7])
  }

  @Test("A body of exactly the limit is not cut")
  func wholeBody() throws {
    let server = try ScriptedServer { .file(Array("0123456789".utf8), $0) }
    let session = try HTTPSession()
    let url = try WebURL(server.url("/a"))
    let whole = try session.examine(TransferRequest(url, limit: 10))
    #expect(whole.body.count == 10 && !whole.isCut)
    let header = HTTPHeader("Range", "bytes=2-5")
    let part = try session.examine(TransferRequest(url, headers: [header], limit: 4))
    #expect(part.status == 206)
    #expect(part.head.contentRange?.bytes == 2..<6)
    #expect(part.head.contentRange?.total == 10)
    #expect(part.body == Array("2345".utf8))
  }

  @Test("HEAD and another Accept-Encoding are sent as they are")
  func method() throws {
    let server = try ScriptedServer { _ in .http("200 OK", length: 10) }
    let session = try HTTPSession()
    var request = TransferRequest(
      try WebURL(server.url("/a")), headers: [HTTPHeader("Accept-Encoding", "gzip")], limit: 0)
    request.method = "HEAD"
    let answer = try session.examine(request)
    #expect(answer.head.contentLength == 10)
    #expect(answer.fault == nil)
    let received = try #require(server.requests.first)
    #expect(received.head.hasPrefix("HEAD /a "))
    #expect(received.header("accept-encoding") == "gzip")
    #expect(!received.head.contains("identity"))
  }

  @Test("A request whose connection is lost is sent once more", arguments: [1, 2])
  func lostConnection(losses: Int) throws {
    let server = try ScriptedServer { request in
      request.number <= losses ? .init([], then: .close) : .http("200 OK", body: [1])
    }
    let session = try HTTPSession()
    let answer = try session.examine(TransferRequest(try WebURL(server.url("/a")), limit: 4))
    #expect(answer.status == (losses == 1 ? 200 : 0))
    #expect((answer.fault?.kind == .cutShort) == (losses == 2))
    #expect(server.requests.count == 2)
  }
}
