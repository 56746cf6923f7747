import HostedFileServer
import HostedTestSupport
import Testing

/// Ambiguous requests: a proxy and this server could disagree where the next request begins (RFC
/// 9112, 2, 5 and 6).
@Suite("Ambiguous requests")
struct RequestHeadTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    var status = 400

    init(_ name: String, _ text: String, status: Int = 400) {
      testDescription = name
      self.text = text
      self.status = status
    }
  }

  private static let start = "GET /targets/empty HTTP/1.1\r\n"
  private static let host = "Host: x\r\n"

  /// A GET with `lines` after its Host.
  private static func fields(_ lines: String...) -> String {
    start + host + lines.map { "\($0)\r\n" }.joined() + "\r\n"
  }

  static let refused = [
    Case("Content-Length twice", fields("Content-Length: 0", "Content-Length: 5") + "hello"),
    Case("Content-Length twice, equal", fields("Content-Length: 0", "content-length: 0")),
    Case(
      "Content-Length with Transfer-Encoding",
      fields("Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n"),
    Case(
      "Transfer-Encoding with Content-Length",
      fields("Transfer-Encoding: chunked", "Content-Length: 5") + "0\r\n\r\n"),
    Case("Content-Length with a sign", fields("Content-Length: +1") + "a"),
    Case("a negative Content-Length", fields("Content-Length: -1")),
    Case("Content-Length in hexadecimal", fields("Content-Length: 0x1") + "a"),
    Case("Content-Length without a number", fields("Content-Length: ")),
    Case("Content-Length as a list", fields("Content-Length: 1, 1") + "a"),
    Case(
      "Content-Length beyond 64 bits", fields("Content-Length: 99999999999999999999"), status: 413),
    Case(
      "Transfer-Encoding twice",
      fields("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n"),
    Case(
      "an unknown coding", fields("Transfer-Encoding: gzip, chunked") + "0\r\n\r\n",
      status: 501),
    Case("a coding without an end", fields("Transfer-Encoding: gzip")),
    Case(
      "a coding with another k", fields("Transfer-Encoding: chun\u{212a}ed") + "0\r\n\r\n"),
    Case("the coding identity", fields("Transfer-Encoding: identity")),
    Case("a coding with a parameter", fields("Transfer-Encoding: chunked;x") + "0\r\n\r\n"),
    Case(
      "Transfer-Encoding in HTTP/1.0",
      "GET /targets/empty HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    Case("a folded line", fields("X: a", " b")),
    Case("a folded line with a tab", fields("X: a", "\tb")),
    Case("a folded Content-Length", fields("Content-Length: 5", " 0") + "hello"),
    Case("a folded Transfer-Encoding", fields("Transfer-Encoding:", " chunked") + "0\r\n\r\n"),
    Case("a folded line before all fields", start + " X: a\r\n" + host + "\r\n"),
    Case("a space before the colon", fields("Content-Length : 5") + "hello"),
    Case("a tab before the colon", fields("X\t: a")),
    Case("a space in a name", fields("X Y: a")),
    Case("a line without a colon", fields("XY")),
    Case("CR in a value", fields("X: a\rContent-Length: 5")),
    Case("CR in a name", fields("X\rY: a")),
    Case("CR before the line's end", fields("X: a\r")),
    Case("NUL in a value", fields("X: a\u{0}b")),
    Case("NUL in a name", fields("X\u{0}Y: a")),
    Case("a control character in a value", fields("X: \u{1}")),
    Case("lines without CR", "GET /targets/empty HTTP/1.1\nHost: x\nX: y\n\n"),
    Case("no Host", start + "\r\n"),
    Case("Host twice", start + host + host + "\r\n"),
    Case("an invalid Host", start + "Host: a b/c\r\n\r\n"),
    Case("a space in the target", "GET /targets/em pty HTTP/1.1\r\n\(host)\r\n"),
    Case("a control character in the target", "GET /targets/\u{1b}[31m HTTP/1.1\r\n\(host)\r\n"),
    Case("an invalid method", "G\u{1}T /targets/empty HTTP/1.1\r\n\(host)\r\n"),
    Case("a chunk without a length", fields("Transfer-Encoding: chunked") + "zz\r\n\r\n"),
  ]

  @Test(
    "An ambiguous request is refused, and data after it is not parsed as a request",
    arguments: refused)
  func refusal(_ example: Case) throws {
    let fixture = try ServerFixture()
    let client = try fixture.client()
    client.send(example.text + "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(client.receiveAll().status == example.status)
    #expect(client.end != .silence)
    #expect(!fixture.server.requests.contains { $0.path.contains("hidden") })
    #expect(try fixture.get().status == 200)
  }

  @Test("The connection closes after a request with a body")
  func bodies() throws {
    let fixture = try ServerFixture()
    for text in [
      Self.fields("Content-Length: 5") + "hello",
      Self.fields("Transfer-Encoding: Chunked") + "5;ext\r\nhello\r\n0\r\nX: y\r\n\r\n",
    ] {
      let client = try fixture.client()
      client.send(text + "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(client.receiveAll().status == 200)
      #expect(client.header("Connection") == "close")
    }
    #expect(!fixture.server.requests.contains { $0.path.contains("hidden") })
  }

  @Test(
    "Unusual but unambiguous requests are answered",
    arguments: [
      start + host + "\r\n", start + "Host:\r\n\r\n", start + "Host: [::1]:8080 \t\r\n\r\n",
      "GET /targets/empty HTTP/1.0\r\n\r\n", "\r\n" + start + host + "\r\n",
      "GET http://other.example/targets/empty HTTP/1.1\r\n" + host + "\r\n",
      fields("Content-Length: 0"), fields("X:\ta \u{e4}\t"), fields("x-~!#$%&'*+.^_`|: ,"),
      fields("Accept: a", "Accept: b"),
    ])
  func answered(text: String) throws {
    let fixture = try ServerFixture()
    let client = try fixture.client()
    client.send(text)
    client.half()
    #expect(client.receiveAll().status == 200)
  }
}
