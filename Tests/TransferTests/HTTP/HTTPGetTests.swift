import HostedHTTPValues
import HostedModel
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedTransfer

@Suite("Small answers over HTTP", .waiting, .timeLimit(.hang))
struct HTTPGetTests {
  private static let impatient = impatientConfiguration()

  private func get(
    _ text: String, limit: Int = 1000, _ configuration: HTTPConfiguration = impatient
  ) throws -> TransferResponse {
    try HTTPSession(configuration).send(TransferRequest(try WebURL(text), limit: limit))
  }

  @Test("A body is complete, with its status and lower-case headers")
  func whole() throws {
    let server = try ScriptedServer { _ in
      .http("200 OK", ["X-One: 1", "x-two:2", "X-One: 3"], body: Array("hello".utf8))
    }
    let answer = try get(server.url("/a%20b?q=1"))
    #expect(answer.status == 200)
    #expect(answer.body == Array("hello".utf8))
    #expect(answer.headers["x-one"] == "1, 3")
    #expect(answer.headers["x-two"] == "2")
    #expect(answer.url.text == server.url("/a%20b?q=1"))
    #expect(server.requests.map(\.path) == ["/a%20b?q=1"])
    #expect(server.requests[0].header("accept-encoding") == "identity")
  }

  @Test(
    "A header that contains a line break is refused, and nothing is sent",
    arguments: [("X", "a\r\nY: b"), ("X", "a\nY"), ("X", "\0"), ("X: a\r\nY", "b"), ("", "a")])
  func malformedHeaders(name: String, value: String) throws {
    let server = try ScriptedServer { _ in .http("200 OK") }
    var request = TransferRequest(try WebURL(server.url()), limit: 1000)
    request.headers = [HTTPHeader(name, value)]
    let session = try HTTPSession(Self.impatient)
    #expect(code { _ = try session.send(request) } == .usage)
    #expect(server.requests.isEmpty)
  }

  @Test("No child process inherits a connection")
  func connectionsOfChildren() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: Array("hello".utf8)) }
    let session = try HTTPSession(Self.impatient)
    _ = try session.send(TransferRequest(try WebURL(server.url()), limit: 1000))
    // The connection is kept for the next request.
    let connections = (0..<Int32(getdtablesize())).filter { Self.peerPort(of: $0) == server.port }
    #expect(!connections.isEmpty)
    #expect(connections.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
    session.close()
  }

  private static func peerPort(of descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    guard result == 0, address.sin_family == AF_INET else { return nil }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  @Test("A missing file is an answer, and is requested once", arguments: [404, 403, 410])
  func missing(status: Int) throws {
    let server = try ScriptedServer { _ in .http("\(status) No", body: Array("page".utf8)) }
    #expect(try get(server.url()).status == status)
    #expect(server.requests.count == 1)
  }

  @Test("A body within the limit is returned, and one more byte is refused, declared or not")
  func limit() throws {
    let body = [UInt8](repeating: 7, count: 1000)
    let server = try ScriptedServer { request in
      .http("200 OK", body: body, length: request.path == "/said" ? 1000 : nil, then: .close)
    }
    for path in ["/said", "/unsaid"] {
      #expect(try get(server.url(path)).body == body)
      #expect(code { _ = try get(server.url(path), limit: 999) } == .limitExceeded)
    }
  }

  @Test("A single fault is retried in the same call", arguments: FaultyAnswer.allCases)
  func heals(fault: FaultyAnswer) throws {
    let server = try ScriptedServer { request in
      request.number == 1 ? fault.answer : .http("200 OK", body: Array("right".utf8))
    }
    #expect(try get(server.url(), fault.configuration).body == Array("right".utf8))
    #expect(server.requests.count >= 2)
  }

  @Test(
    "A permanent fault throws its own error after five requests", .slow,
    arguments: FaultyAnswer.allCases.filter { $0 != .busy })
  func lasts(fault: FaultyAnswer) throws {
    let server = try ScriptedServer { _ in fault.answer }
    #expect(code { _ = try get(server.url(), fault.configuration) } == fault.code)
    #expect(server.requests.count == 5)
  }

  /// Faulty answers that another attempt may fix, and their errors.
  enum FaultyAnswer: CaseIterable {
    case failed, busy, short, reset, nothing, stalled, encoded, longHeaders, noHTTP

    var answer: ScriptedServer.Answer {
      let body = Array("wrong".utf8)
      return switch self {
      case .failed: .http("500 Oh", body: body)
      case .busy: .http("503 Busy", ["Retry-After: 0"], body: body)
      case .short: .http("200 OK", body: body, length: 6, then: .close)
      case .reset: .http("200 OK", body: body, length: 6, then: .reset)
      case .nothing: .init([], then: .close)
      case .stalled: .http("200 OK", body: body, length: 6, then: .hang)
      case .encoded: .http("200 OK", ["Content-Encoding: gzip"], body: body)
      case .longHeaders:
        .http("200 OK", ["X: \(String(repeating: "x", count: 70_000))"], body: body)
      case .noHTTP: .init(Array("hello there\r\n\r\n".utf8), then: .close)
      }
    }

    var configuration: HTTPConfiguration {
      impatientConfiguration(stallTimeout: self == .stalled ? 0.3 : 10)
    }

    var code: ContentError.Code {
      switch self {
      case .failed: .serverFailed
      case .busy: .serverBusy
      case .short, .nothing: .connectionLost
      case .reset: .networkFailed
      case .stalled: .transferStalled
      case .encoded, .longHeaders, .noHTTP: .answerUnusable
      }
    }
  }

  @Test("A refused connection and an unknown host have their own errors")
  func unreachable() throws {
    let port = try ReservedPort()
    #expect(code { _ = try get("http://127.0.0.1:\(port.number)/") } == .connectionRefused)
    #expect(code { _ = try get("http://no-such-host.invalid/") } == .hostNotFound)
  }

  @Test("The deadline ends a call with the fault that delayed it", .slow)
  func deadline() throws {
    let server = try ScriptedServer { _ in .http("503 Busy", ["Retry-After: 3600"]) }
    var request = TransferRequest(try WebURL(server.url()), limit: 10)
    request.deadline = 2
    let session = try HTTPSession(Self.impatient)
    #expect(code { _ = try session.send(request) } == .serverBusy)
  }

  @Test("A cancelled ticket ends a call that waits for an idle server")
  func cancel() async throws {
    let ticket = TransferTicket()
    let server = try ScriptedServer { _ in
      ticket.cancel()
      return .init([], then: .hang)
    }
    var request = TransferRequest(try WebURL(server.url()), limit: 10)
    request.ticket = ticket
    let session = try HTTPSession(Self.impatient)
    #expect(code { _ = try session.send(request) } == .stopped)
    #expect(code { _ = try session.send(request) } == .stopped)
  }

  @Test("A closed session throws stopped")
  func closed() throws {
    let session = try HTTPSession(Self.impatient)
    session.close()
    let url = try WebURL("http://127.0.0.1:1/")
    #expect(code { _ = try session.send(TransferRequest(url, limit: 1)) } == .stopped)
  }

  // MARK: Redirects and secrets

  @Test("Up to five redirects are followed")
  func redirects() throws {
    let server = try ScriptedServer { request in
      let step = Int(request.path.dropFirst()) ?? 0
      return step == 0
        ? .http("200 OK", body: [1]) : .http("302 Found", ["Location: /\(step - 1)"], body: [2, 2])
    }
    let answer = try get(server.url("/5"))
    #expect(answer.body == [1])
    #expect(answer.url.text == server.url("/0"))
    #expect(code { _ = try get(server.url("/6")) } == .tooManyRedirects)
  }

  @Test(
    "A redirect to another scheme is refused",
    arguments: [
      "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "http://u:p@127.0.0.1/",
    ])
  func redirectElsewhere(target: String) throws {
    let server = try ScriptedServer { _ in .http("302 Found", ["Location: \(target)"]) }
    #expect(code { _ = try get(server.url()) } == .redirectRefused)
  }

  @Test("Credentials are only sent to their own host, even after a redirect")
  func secrets() throws {
    let other = try ScriptedServer { _ in .http("200 OK", body: [1]) }
    let target = other.url("/there")
    let server = try ScriptedServer { request in
      request.path == "/away"
        ? .http("302 Found", ["Location: \(target)"]) : .http("200 OK", body: [1])
    }
    var configuration = impatientConfiguration()
    configuration.credentials = [
      HTTPCredentials(for: try WebURL(server.url("/x")), bearerToken: "secret")
    ]
    let session = try HTTPSession(configuration)
    _ = try session.send(TransferRequest(try WebURL(server.url("/here")), limit: 10))
    _ = try session.send(TransferRequest(try WebURL(server.url("/away")), limit: 10))
    #expect(
      server.requests.map { $0.header("authorization") } == ["Bearer secret", "Bearer secret"])
    #expect(other.requests.map { $0.header("authorization") } == [nil])
    #expect(!"\(configuration.credentials)".contains("secret"))
  }

  @Test("A proxy gets the whole URL, and a missing proxy has its own error")
  func proxy() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    var configuration = impatientConfiguration()
    configuration.proxy = .url("http://127.0.0.1:\(server.port)")
    // The name has no address, so the proxy must have received the request.
    let far = try WebURL("http://store.invalid/file")
    let session = try HTTPSession(configuration)
    #expect(try session.send(TransferRequest(far, limit: 10)).body == [7])
    #expect(server.requests.map(\.path) == ["http://store.invalid/file"])
    configuration.proxy = .url("http://proxy.invalid:1")
    let lost = try HTTPSession(configuration)
    #expect(code { _ = try lost.send(TransferRequest(far, limit: 10)) } == .proxyFailed)
  }

  @Test("The delay before a retry comes from the session's random source")
  func injectedRandomness() throws {
    let server = try ScriptedServer { request in
      request.number < 3 ? .http("503 Busy") : .http("200 OK", body: [7])
    }
    let draws = Mutex(0)
    let session = try HTTPSession(
      Self.impatient,
      random: {
        draws.withLock { $0 += 1 }
        return 0
      })
    #expect(try session.send(TransferRequest(try WebURL(server.url()), limit: 10)).body == [7])
    #expect(draws.withLock { $0 } == 2)
  }

  @Test("Proxy variables are read from the given environment, by libcurl's rules")
  func proxyVariables() throws {
    let plain = try WebURL("http://store.invalid/file")
    let secure = try WebURL("https://store.invalid/file")
    let cases: [([String: String], plain: String?, secure: String?)] = [
      ([:], nil, nil),
      (["http_proxy": "a"], "a", nil), (["HTTP_PROXY": "a"], nil, nil),
      (["https_proxy": "a", "HTTPS_PROXY": "b"], nil, "a"), (["HTTPS_PROXY": "b"], nil, "b"),
      (["http_proxy": "a", "all_proxy": "b"], "a", "b"), (["ALL_PROXY": "b"], "b", "b"),
      (["http_proxy": "", "all_proxy": "", "ALL_PROXY": "c"], "c", "c"),
    ]
    for (environment, expectedPlain, expectedSecure) in cases {
      let setting = ProxySetting.environment(ProxyVariables(environment))
      #expect(setting.proxy(for: plain)?.proxy == expectedPlain, "\(environment)")
      #expect(setting.proxy(for: secure)?.proxy == expectedSecure, "\(environment)")
      #expect(setting.addresses.isEmpty == (expectedPlain == nil && expectedSecure == nil))
    }
  }

  @Test("A proxy of the environment is used, except for hosts in no_proxy")
  func proxyOfEnvironment() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let proxy = "http://127.0.0.1:\(server.port)"
    let far = try WebURL("http://store.invalid/file")
    for exceptions in [nil, "other.invalid", "store.invalid"] {
      let isExcepted = exceptions == "store.invalid"
      var environment = ["http_proxy": proxy]
      environment["no_proxy"] = exceptions
      for setting in [
        .environment(ProxyVariables(environment)), ProxySetting.url(proxy, exceptions: exceptions),
      ] {
        var configuration = impatientConfiguration()
        configuration.proxy = setting
        configuration.retry.attempts = 1
        let session = try HTTPSession(configuration)
        let found = code { _ = try session.send(TransferRequest(far, limit: 10)) }
        #expect(found == (isExcepted ? .hostNotFound : nil), "\(setting)")
      }
    }
  }

  @Test("A header that would inject another one is refused")
  func smuggling() throws {
    var configuration = impatientConfiguration()
    let host = try WebURL("http://127.0.0.1/")
    configuration.credentials = [HTTPCredentials(for: host, bearerToken: "a\r\nX-Evil: 1")]
    #expect(code { _ = try HTTPSession(configuration) } == .usage)
  }

  @Test("Connections are reused")
  func reuse() throws {
    let server = try ScriptedServer { request in
      request.number == 2 ? .http("404 No", body: [1, 2]) : .http("200 OK", body: [1])
    }
    let session = try HTTPSession(Self.impatient)
    for _ in 0..<4 { _ = try session.send(TransferRequest(try WebURL(server.url()), limit: 10)) }
    #expect(Set(server.requests.map(\.connection)) == [1])
    #expect(session.statistics.requests == 4)
    #expect(session.statistics.protocolName == "HTTP/1.1")
  }

  @Test(
    "Invalid URLs and URLs with credentials are refused",
    arguments: [
      "", "x", "file:///etc/passwd", "ftp://a/b", "http://", "http://user@host/",
      "http://u:p@host/",
      "http://ho st/", "http://host/\u{0}", "http://host:99999/", "http://host/\r\nx",
    ])
  func urls(text: String) {
    #expect(code { _ = try WebURL(text) } == .usage)
  }

  @Test("A path below a URL is percent-encoded, and a query is kept")
  func appending() throws {
    let base = try WebURL("https://Example.com/store?token=1#part")
    #expect(
      try base.appending("a b/c%?#ü.pkg").text
        == "https://Example.com/store/a%20b/c%25%3F%23%C3%BC.pkg?token=1")
    #expect(base.origin == "https://example.com:443")
    #expect("\(base)" == "https://Example.com/store")
  }
}

/// Returns a configuration with short retries, and with a `stallTimeout` for idle servers.
///
/// A short timeout could also affect other servers on a busy machine.
func impatientConfiguration(stallTimeout: Double = 10) -> HTTPConfiguration {
  var configuration = HTTPConfiguration()
  configuration.stallTimeout = stallTimeout
  configuration.idleTimeout = stallTimeout
  configuration.minimumBytes = 1
  configuration.retry.firstDelay = 0.001
  return configuration
}
