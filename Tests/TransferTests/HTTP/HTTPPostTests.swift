import HostedHTTPValues
import HostedModel
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedTransfer

@Suite("Requests with a body", .waiting, .timeLimit(.hang))
struct HTTPPostTests {
  private func post(
    _ server: ScriptedServer, _ body: [UInt8] = Array("{}".utf8), isRepeatable: Bool = true
  ) throws -> TransferResponse {
    var request = TransferRequest(
      try WebURL(server.url("/a:b")), headers: [HTTPHeader("Content-Type", "application/json")],
      limit: 1000)
    request.method = "POST"
    request.body = body
    request.isRepeatable = isRepeatable
    return try HTTPSession(impatientConfiguration()).send(request)
  }

  @Test("The body and its type are sent at once", arguments: [0, 2, 3_000_000])
  func shape(length: Int) throws {
    let server = try ScriptedServer { _ in .http("201 Created", body: [7]) }
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: length)
    let answer = try post(server, body)
    #expect(answer.status == 201 && answer.body == [7] && !answer.isRepeated)
    let request = try #require(server.requests.first)
    #expect(request.method == "POST" && request.path == "/a:b")
    #expect(request.body == body)
    #expect(request.header("content-length") == "\(length)")
    #expect(request.header("content-type") == "application/json")
    #expect(request.header("expect") == nil)
  }

  @Test("A repeatable request is repeated with its body after a lost connection")
  func repeated() throws {
    let server = try ScriptedServer { request in
      request.number == 1 ? .init([], then: .close) : .http("200 OK")
    }
    let answer = try post(server)
    #expect(answer.isRepeated)
    #expect(server.requests.map(\.body) == [Array("{}".utf8), Array("{}".utf8)])
  }

  @Test("Other requests are sent once", arguments: ["", "HTTP/1.1 503 Busy\r\n\r\n"])
  func once(answer: String) throws {
    let server = try ScriptedServer { _ in .init(Array(answer.utf8), then: .close) }
    #expect(code { _ = try post(server, isRepeatable: false) } != nil)
    #expect(server.requests.count == 1)
  }

  @Test("A redirect is not followed")
  func redirect() throws {
    let server = try ScriptedServer { _ in .http("307 Elsewhere", ["Location: /other"]) }
    #expect(code { _ = try post(server) } == .redirectRefused)
    #expect(server.requests.count == 1)
  }
}
