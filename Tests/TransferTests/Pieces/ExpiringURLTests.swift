import HostedConcurrency
import HostedModel
@testable import HostedTransfer
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("URLs that expire", .waiting, .timeLimit(.hang))
struct ExpiringURLTests {
  private static let path = "targets/a.pkg"

  /// Returns the URLs of the file at `servers`, with a secret query.
  private static func urls(
    _ secret: String, at servers: ScriptedServer..., lifetime: Double = .infinity
  ) throws -> AuthorizedURLs {
    let urls = try servers.map { try WebURL($0.url("/\(path)?grant=\(secret)")) }
    return AuthorizedURLs([path: urls], lifetime: lifetime)
  }

  /// Returns the first 500,000 bytes of the requested range, so that a fetch needs many requests.
  private static func part(_ file: SampleFile, _ request: ScriptedServer.Request)
    -> ScriptedServer.Answer
  {
    let range = request.range ?? 0...(file.bytes.count - 1)
    let part = range.lowerBound...min(range.upperBound, range.lowerBound + 499_999)
    return .http(
      "206 Partial Content",
      ["Content-Range: bytes \(part.lowerBound)-\(part.upperBound)/\(file.bytes.count)"],
      body: Array(file.bytes[part]))
  }

  private func source(
    _ session: HTTPSession, _ server: ScriptedServer, _ authorizer: any ContentAuthorizer
  ) throws -> HTTPPieceSource {
    try HTTPPieceSource(session, mirrors: [WebURL(server.url())], authorizer: authorizer)
  }

  // MARK: Refusals

  @Test("Refused URLs are renewed once for all requests, and nothing is fetched twice")
  func refusals() throws {
    let file = try SampleFile(length: 8_000_000, pieces: [20_000])
    let gate = Generations(length: 4)
    let server = try ScriptedServer { request in
      gate.admits(request) ? Self.part(file, request) : .http("403 Forbidden")
    }
    let authorizer = CountingAuthorizer { _ in try Self.urls(gate.secret, at: server) }
    var configuration = impatientConfiguration()
    // A renewal is not an attempt.
    configuration.retry.attempts = 1
    let ticket = TransferTicket()
    let source = try source(HTTPSession(configuration), server, authorizer)
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(ticket.statistics.bytesWasted == 0)
    #expect(authorizer.calls > 2)
    #expect(authorizer.calls <= gate.number)
  }

  @Test("A refusal of a new URL is final and does not reveal the URL", arguments: [401, 403, 410])
  func refusedAgain(status: Int) throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { _ in .http("\(status) Refused") }
    let authorizer = CountingAuthorizer { try Self.urls("secret-\($0)", at: server) }
    let source = try source(HTTPSession(impatientConfiguration()), server, authorizer)
    let error = #expect(throws: ContentError.self) { try source.fetch(file) }
    #expect(error?.code == .accessDenied)
    #expect(error.map { "\($0) \($0.subject ?? "")" }?.contains("secret-") == false)
    #expect(server.requests.map { $0.path.suffix(8) } == ["secret-1", "secret-2"])
    #expect(authorizer.calls == 2)
  }

  @Test("If one server refuses new URLs, another one is used")
  func otherMirror() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let bad = try ScriptedServer { _ in .http("403 Forbidden") }
    let good = try ScriptedServer { .file(file.bytes, $0) }
    let authorizer = CountingAuthorizer { try Self.urls("secret-\($0)", at: bad, good) }
    let source = try source(HTTPSession(impatientConfiguration()), bad, authorizer)
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(bad.requests.count == 2 && good.requests.count == 1)
  }

  @Test("A hedged request shares the renewal of the other requests")
  func hedged() throws {
    let file = try SampleFile(length: 1_000_000, pieces: [8_000])
    let server = try ScriptedServer { request in
      guard request.number > 1 else {
        let right = ScriptedServer.Answer.file(file.bytes, request).bytes
        return .init(Array(right.prefix(right.count / 4)), then: .hang)
      }
      return request.path.hasSuffix("secret-2")
        ? .file(file.bytes, request) : .http("403 Forbidden")
    }
    let authorizer = CountingAuthorizer { try Self.urls("secret-\($0)", at: server) }
    var configuration = impatientConfiguration()
    configuration.idleTimeout = 0.3
    let ticket = TransferTicket()
    let source = try source(HTTPSession(configuration), server, authorizer)
    #expect(try source.fetch(file, ticket: ticket).bytes == file.bytes)
    #expect(authorizer.calls == 2)
    // On a busy machine, the silent request may also end before the other one.
    #expect(ticket.statistics.failures["status 403"] == 1)
  }

  // MARK: Lifetimes

  /// A clock that each request advances by 3 seconds, and URLs that expire after 10.
  private final class ShortLife: Sendable {
    let file: SampleFile
    let session: HTTPSession
    let server: ScriptedServer
    private let time: Watched<Double>
    private let requests: Watched<[Use]>

    private struct Use {
      let now: Double
      let expiry: Double
      let length: Int
    }

    init() throws {
      let file = try SampleFile(length: 4_000_000, pieces: [20_000])
      let (time, requests) = (Watched(Self.start), Watched([Use]()))
      server = try ScriptedServer { request in
        let expiry = request.path.split(separator: "=").last.flatMap { Double($0) } ?? 0
        let now = time.change { time in
          defer { time += 3 }
          return time
        }
        let length = request.range?.count ?? file.bytes.count
        requests.change { $0.append(Use(now: now, expiry: expiry, length: length)) }
        return ExpiringURLTests.part(file, request)
      }
      var configuration = impatientConfiguration(stallTimeout: 100_000)
      // Each request advances the clock, so there must be one at a time.
      configuration.limits.connectionsPerTransfer = 1
      configuration.limits.smallRequestsPerTransfer = 1
      let clock = EngineClock(
        now: { Date(timeIntervalSince1970: 0) }, uptime: { time.value })
      session = try HTTPSession(configuration, clock: clock)
      (self.file, self.time, self.requests) = (file, time, requests)
    }

    static let start = 1000.0

    var now: Double { time.value }

    func urls() throws -> AuthorizedURLs {
      try ExpiringURLTests.urls("\(now + 10)", at: server, lifetime: 10)
    }

    func expectValidRequests() {
      #expect(requests.value.allSatisfy { $0.now < $0.expiry })
      // At the assumed rate of 256 kB/s, with a reserve.
      #expect(requests.value.allSatisfy { $0.length <= 2_048_000 })
      #expect(requests.value.count > 5)
    }
  }

  @Test("URLs are renewed after 80 % of their lifetime, and none is used after it")
  func lifetime() throws {
    let life = try ShortLife()
    let authorizer = CountingAuthorizer { _ in try life.urls() }
    let ticket = TransferTicket()
    let source = try source(life.session, life.server, authorizer)
    #expect(try source.fetch(life.file, ticket: ticket).bytes == life.file.bytes)
    life.expectValidRequests()
    #expect(ticket.statistics.bytesWasted == 0)
    #expect(ticket.statistics.failures.isEmpty)
    #expect(authorizer.calls > 1)
    #expect(Double(authorizer.calls - 1) * 8 <= life.now - ShortLife.start)
  }

  @Test("If the grant service fails for a while, the transfer continues with valid URLs")
  func unreachable() throws {
    let life = try ShortLife()
    let authorizer = CountingAuthorizer { call in
      guard call == 1 || call > 3 else { throw Self.unreachable }
      return try life.urls()
    }
    let source = try source(life.session, life.server, authorizer)
    #expect(try source.fetch(life.file).bytes == life.file.bytes)
    #expect(authorizer.calls > 3)
    life.expectValidRequests()
  }

  @Test("If the grant service stays away, the transfer ends after the URLs have expired")
  func gone() throws {
    let life = try ShortLife()
    let authorizer = CountingAuthorizer { call in
      guard call == 1 else { throw Self.unreachable }
      return try life.urls()
    }
    let sink = Sink(for: life.file)
    let source = try source(life.session, life.server, authorizer)
    let error = code {
      try source.fetch(
        life.file.pieces, of: life.file.signed, ticket: TransferTicket(), deliver: sink.take)
    }
    #expect(error == .networkFailed)
    #expect(!sink.delivered.isEmpty)
  }

  private static let unreachable = ContentError(
    .networkFailed, "The test's service is away", remedy: "Wait")

  @Test("URLs that expired before they arrived are not used")
  func late() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let authorizer = CountingAuthorizer { _ in
      try Self.urls("secret", at: server, lifetime: 5).aged(by: 6)
    }
    let source = try source(HTTPSession(impatientConfiguration()), server, authorizer)
    #expect(code { _ = try source.fetch(file) } == .timedOut)
    #expect(authorizer.calls == impatientConfiguration().retry.attempts)
    #expect(server.requests.isEmpty)
  }

  // MARK: Grants

  @Test("If the grant is revoked during a transfer, it ends and keeps its pieces")
  func revoked() throws {
    let file = try SampleFile(length: 8_000_000, pieces: [20_000])
    let gate = Generations(length: 4)
    let server = try ScriptedServer { request in
      gate.admits(request) ? Self.part(file, request) : .http("403 Forbidden")
    }
    let authorizer = CountingAuthorizer { call in
      guard call == 1 else { throw Self.noGrant }
      return try Self.urls(gate.secret, at: server)
    }
    var configuration = impatientConfiguration()
    configuration.limits.connectionsPerTransfer = 1
    let sink = Sink(for: file)
    let source = try source(HTTPSession(configuration), server, authorizer)
    let error = code {
      try source.fetch(file.pieces, of: file.signed, ticket: TransferTicket(), deliver: sink.take)
    }
    #expect(error == .accessDenied)
    #expect(sink.delivered.count == 100)
    #expect(authorizer.calls == 2)
  }

  @Test("Without a grant, nothing is requested")
  func refused() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let authorizer = CountingAuthorizer { _ in throw Self.noGrant }
    let source = try source(HTTPSession(impatientConfiguration()), server, authorizer)
    #expect(code { _ = try source.fetch(file) } == .accessDenied)
    #expect(server.requests.isEmpty)
  }

  private static let noGrant = ContentError(.accessDenied, "No grant", remedy: "Buy it")

  @Test("A file without a URL in the grant is fetched from the mirrors")
  func notGated() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let authorizer = CountingAuthorizer { _ in AuthorizedURLs([:], lifetime: .infinity) }
    let source = try source(HTTPSession(impatientConfiguration()), server, authorizer)
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(server.requests.map(\.path) == ["/\(Self.path)"])
  }

  @Test("A cancelled transfer does not wait for its grant")
  func cancelled() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let (ticket, isReleased) = (TransferTicket(), Watched(false))
    let authorizer = CountingAuthorizer { _ in
      ticket.cancel()
      await isReleased.wait { $0 }
      throw Self.noGrant
    }
    let source = try source(HTTPSession(impatientConfiguration()), server, authorizer)
    #expect(code { _ = try source.fetch(file, ticket: ticket) } == .stopped)
    isReleased.change { $0 = true }
  }

  // MARK: Secrets

  @Test("Credentials are not sent with a signed URL, but with others")
  func credentials() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    var configuration = impatientConfiguration()
    let url = try WebURL(server.url())
    configuration.credentials = [HTTPCredentials(for: url, bearerToken: "token")]
    let session = try HTTPSession(configuration)
    let authorizer = CountingAuthorizer { _ in try Self.urls("secret", at: server) }
    _ = try source(session, server, authorizer).fetch(file)
    _ = try session.contents(of: "metadata", at: url, limit: 1 << 20)
    #expect(server.requests.map { $0.header("authorization") } == [nil, "Bearer token"])
  }

  @Test("Signed URLs are not sent unencrypted to another machine")
  func plainHTTP() throws {
    let file = try SampleFile(length: 100_000, pieces: [20_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let authorizer = CountingAuthorizer { _ in
      try AuthorizedURLs(
        [Self.path: [WebURL("http://store.invalid/a?grant=secret")]], lifetime: .infinity)
    }
    let source = try source(HTTPSession(impatientConfiguration()), server, authorizer)
    let error = #expect(throws: ContentError.self) { try source.fetch(file) }
    #expect(error?.code == .insecureConnectionRefused)
    #expect(error.map { "\($0)" }?.contains("secret-") == false)
  }

  @Test(
    "An invalid URL is shown without its password and query",
    arguments: [
      "ftp://a.example/x?grant=secret", "ftp://a.example/x?grant=a@secret", "ftp://b:secret@a/x",
      "ftp://b:sec?secret@a/x", "ftp://a/x?\u{301}a@secret", "ftp://b:secret@\u{301}a/x",
    ])
  func invalid(text: String) {
    let error = #expect(throws: ContentError.self) { try WebURL(text) }
    #expect(error.map { "\($0) \($0.subject ?? "")" }?.contains("sec") == false)
  }

  @Test("A query that begins with a combining mark is a secret query, too")
  func combiningMark() throws {
    let url = try WebURL("https://a.example/x?\u{301}secret")
    #expect(url.hasQuery)
    #expect("\(url)" == "https://a.example/x")
  }
}
