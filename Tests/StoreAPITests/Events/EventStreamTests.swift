import HostedHTTPValues
import HostedModel
import FoundationEssentials
import HostedStoreAPI
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Streams of events", .waiting, .timeLimit(.hang))
struct EventStreamTests {
  @Test func `A stream begins with its cursor and sends each event once`() async throws {
    let fixture = try FeedFixture()
    let start = try fixture.cursor
    let reader = try fixture.stream()
    #expect(await reader.text(until: "\n\n") == "id: \(start)\n\n")
    try fixture.sell(["t-1"])
    fixture.feed.wake()
    let text = await reader.text(until: "\n\n")
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 5)
    #expect(lines[0] == "id: \(try fixture.cursor)")
    #expect(lines[1] == "event: purchased")
    let data = try #require(lines[2].hasPrefix("data: ") ? lines[2].dropFirst(6) : nil)
    let event = try EventMessage(json: JSONValue(parsing: Array(data.utf8)))
    #expect(event.purchase?.transaction == "t-1")
    #expect(event.cursor == (try fixture.cursor))
  }

  @Test func `A stream continues after a cursor`() async throws {
    let fixture = try FeedFixture()
    let start = try fixture.cursor
    try fixture.sell(["t-1", "t-2"])
    let first = try #require(try await fixture.poll(after: start).events.first)
    let reader = try fixture.stream(after: first.cursor)
    let text = await reader.text(until: "\"t-2\"")
    #expect(!text.contains("\"t-1\""))
  }

  @Test func `A restricted stream has no events of other accounts`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.stream(account: "ada")
    try fixture.sell(["t-1"], to: "bob")
    try fixture.sell(["t-2"], to: "ada")
    fixture.feed.wake()
    let text = await reader.text(until: "\"t-2\"")
    #expect(!text.contains("\"t-1\""))
  }

  @Test func `Accounts that differ only in their Unicode form share no events`() async throws {
    let fixture = try FeedFixture()
    let (composed, decomposed): (AccountID, AccountID) = ("\u{e9}", "e\u{301}")
    let readers = [
      try fixture.stream(account: composed), try fixture.stream(account: decomposed),
    ]
    for reader in readers { _ = await reader.text(until: "\n\n") }
    try fixture.sell(["t-0"], to: composed)
    try fixture.sell(["t-1"], to: decomposed)
    fixture.feed.wake()
    for (number, reader) in readers.enumerated() {
      let text = await reader.text(until: "\"t-\(number)\"")
      #expect(!text.contains("\"t-\(1 - number)\""))
    }
  }

  @Test(.slow) func `Slow and fast clients get all events in order while more are sold`()
    async throws
  {
    let fixture = try FeedFixture()
    let slow = try fixture.stream()
    let fast = try fixture.stream()
    let names = (0..<1_200).map { "t-\($0)" }
    try fixture.sell(Array(names[..<400]))
    fixture.feed.wake()
    var fastText = await fast.text(until: "\"t-399\"")
    try fixture.sell(Array(names[400..<800]))
    fixture.feed.wake()
    var slowText = await slow.text(until: "\"t-100\"", limit: 1_000)
    try fixture.sell(Array(names[800...]))
    fixture.feed.wake()
    fastText += await fast.text(until: "\"t-1199\"")
    slowText += await slow.text(until: "\"t-1199\"", limit: 5_000)
    #expect(Self.transactions(in: fastText) == names)
    #expect(Self.transactions(in: slowText) == names)
  }

  private static func transactions(in text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("data: "),
        let json = try? JSONValue(parsing: Array(line.dropFirst(6).utf8))
      else { return nil }
      return json["transaction"]?.string
    }
  }

  @Test func `An idle stream gets a heartbeat, and ends after its time`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.stream()
    _ = await reader.text(until: "\n\n")
    for _ in 1...2 {
      fixture.advance(.seconds(16))
      #expect(await reader.text(until: "\n\n") == ":\n\n")
    }
    fixture.advance(.seconds(15 * 60))
    #expect(await reader.isAtEnd())
  }

  @Test(arguments: [true, false])
  func `A key that is revoked or expires gets no later events`(isRevoked: Bool) async throws {
    let fixture = try FeedFixture()
    let key = APIKey(
      kid: "key-1", account: "key-own", .publicKey(pem: ""), scopes: [.read],
      created: FeedFixture.date)
    #expect(try fixture.ledger.add(key))
    let viewer = AccountAccess(keyAccount: key.account, kid: key.kid)
    let start = fixture.feed.stream(after: nil, viewer: viewer)
    guard case .stream(let stream) = start.body else { throw UnexpectedBody() }
    let reader = StreamReader(stream)
    _ = await reader.text(until: "\n\n")
    try fixture.sell(["t-1"])
    fixture.feed.wake()
    _ = await reader.text(until: "\"t-1\"")
    let response = Watched<HTTPResponse<APIBody>?>(nil)
    fixture.feed.poll(after: nil, viewer: viewer, wait: .seconds(30), limit: 200) { found in
      response.change { $0 = found }
    }
    let end = Date(timeIntervalSince1970: 0)
    let isChanged =
      try isRevoked
      ? fixture.ledger.revokeKey(key.kid, at: end) : fixture.ledger.expireKey(key.kid, at: end)
    #expect(isChanged)
    try fixture.sell(["t-2"])
    fixture.feed.wake()
    #expect(try await response.response.status == 401)
    #expect(await reader.isAtEnd())
  }

  @Test func `A restored ledger ends a stream`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.stream()
    _ = await reader.text(until: "\n\n")
    try fixture.execute("UPDATE ledger SET incarnation = 'restored'")
    fixture.feed.wake()
    #expect(await reader.isAtEnd())
  }

  @Test func `Events do not name an account after it was erased`() async throws {
    let fixture = try FeedFixture()
    let start = try fixture.cursor
    let first = try fixture.stream()
    try fixture.sell(["t-1"])
    fixture.feed.wake()
    #expect(await first.text(until: "\"t-1\"").contains("\"ada\""))
    _ = try fixture.ledger.commit([.erase(account: "ada")], at: FeedFixture.date)
    let erased = try #require(try fixture.ledger.purchase("t-1")?.account).rawValue
    fixture.feed.wake()
    // The first stream keeps the event in memory.
    let second = try fixture.stream(after: start)
    _ = await second.text(until: "\n\n")
    let text = await second.text(until: "\n\n")
    #expect(text.contains("\"t-1\"") && text.contains("\"\(erased)\""))
    #expect(!text.contains("\"ada\""))
  }

  @Test func `A client that was too slow for the kept events ends`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.stream()
    try fixture.sell((1...300).map { "t-\($0)" })
    fixture.feed.wake()
    _ = await reader.text(until: "\"t-1\"", limit: 100)
    let date = FeedFixture.date.addingTimeInterval(1)
    try fixture.ledger.pruneEvents(before: date, now: date)
    // What was read before is still sent.
    let text = await reader.text(until: "\"t-300\"")
    #expect(!text.contains("\"t-300\""))
    #expect(await reader.isAtEnd())
  }

  @Test func `Closing ends streams after the bytes that wait`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.stream()
    fixture.feed.close()
    #expect(await reader.text(until: "\n\n").hasPrefix("id: "))
    #expect(await reader.isAtEnd())
  }
}
