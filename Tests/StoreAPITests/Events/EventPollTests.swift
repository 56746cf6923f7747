import HostedHTTPValues
import HostedModel
import FoundationEssentials
import HostedStoreAPI
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Requests for events", .waiting, .timeLimit(.hang))
struct EventPollTests {
  @Test func `Events come in commit order, and a cursor continues after each of them`() async throws
  {
    let fixture = try FeedFixture()
    let start = try fixture.cursor
    try fixture.sell(["t-1", "t-2"])
    try fixture.sell(["t-3"])
    let all = try await fixture.poll(after: start)
    #expect(all.status == 200)
    #expect(all.field("Content-Type") == "application/json")
    #expect(try all.transactions == ["t-1", "t-2", "t-3"])
    #expect(try all.cursor == fixture.cursor)
    #expect(all.field("Link") == nil)
    let first = try #require(try all.events.first)
    #expect(try await fixture.poll(after: first.cursor).transactions == ["t-2", "t-3"])
    let page = try await fixture.poll(after: start, limit: 2)
    #expect(try page.transactions == ["t-1", "t-2"])
    let next = try page.cursor
    #expect(page.field("Link") == "</v1/events?after=\(next)&limit=2>; rel=\"next\"")
    #expect(try await fixture.poll(after: page.cursor).transactions == ["t-3"])
  }

  @Test func `A request waits for the first event after its start`() async throws {
    let fixture = try FeedFixture()
    try fixture.sell(["t-before"])
    let response = fixture.start()
    #expect(response.value == nil)
    try fixture.sell(["t-after"])
    fixture.feed.wake()
    #expect(try await response.response.transactions == ["t-after"])
  }

  @Test func `Events of another server are found without a wake`() async throws {
    let fixture = try FeedFixture()
    let response = fixture.start()
    let other = Ledger(try SQLiteLedger(in: fixture.folder.opened()))
    _ = try other.commit(
      [.purchase(try PurchaseDraft(test: "t-other", "space", "ada"))], at: FeedFixture.date)
    #expect(try await response.response.transactions == ["t-other"])
  }

  @Test func `Without events, a request ends after its time with the current cursor`() async throws
  {
    let fixture = try FeedFixture()
    let response = fixture.start(account: "ada", wait: .seconds(10))
    try fixture.sell(["t-1"], to: "bob")
    fixture.advance(.seconds(11))
    let ended = try await response.response
    #expect(ended.status == 200)
    #expect(try ended.events.isEmpty)
    #expect(try ended.cursor == fixture.cursor)
  }

  @Test func `A restricted caller gets the events of its account and of the store`() async throws {
    let fixture = try FeedFixture()
    let start = try fixture.cursor
    try fixture.sell(["t-1"], to: "ada")
    try fixture.sell(["t-2"], to: "bob")
    try fixture.publish()
    let found = try await fixture.poll(after: start, account: "ada")
    #expect(try found.transactions == ["t-1", nil])
    #expect(try found.cursor == fixture.cursor)
    let all = try await fixture.poll(after: start)
    #expect(try all.transactions == ["t-1", "t-2", nil])
    // The same characters in another form are another account.
    try fixture.sell(["t-3"], to: "jos\u{e9}")
    let other = try await fixture.poll(after: all.cursor, account: "jose\u{301}")
    #expect(try other.events.isEmpty)
  }

  @Test func `An approved interrupted purchase is an event for its account only`() async throws {
    let fixture = try FeedFixture()
    let start = try fixture.cursor
    for (transaction, account) in [("t-1", "ada"), ("t-2", "key-other")]
      as [(String, AccountID)]
    {
      let draft = try PurchaseDraft(
        test: transaction, "space", account, state: .failed(.interrupted))
      let changes: [LedgerChange] = [
        .purchase(draft), .decide(transaction: transaction, .approve),
      ]
      for result in try fixture.ledger.commit(changes, at: FeedFixture.date) {
        _ = try result.get()
      }
    }
    for (account, visible) in [
      (nil, ["t-1"]), ("ada", ["t-1"]), ("bob", []), ("key-other", ["t-2"]),
    ] as [(AccountID?, [String])] {
      let events = try await fixture.poll(after: start, account: account).events
      #expect(events.compactMap { $0.purchase?.transaction } == visible)
      #expect(events.allSatisfy { $0.kind == .decidedAfterInterruption })
    }
  }

  @Test func `A request finds its event among many of other accounts`() async throws {
    let fixture = try FeedFixture()
    let start = try fixture.cursor
    try fixture.sell((1...700).map { "t-\($0)" }, to: "bob")
    try fixture.sell(["t-ada"], to: "ada")
    let response = fixture.start(after: start, account: "ada")
    #expect(try await response.response.transactions == ["t-ada"])
  }

  @Test(arguments: [
    "x", ".", "x.", ".1", "x.-1", "x.01", "x.1.2", "x.99999999999999999999", "x y.1",
  ])
  func `A malformed cursor gets 400`(cursor: String) async throws {
    let fixture = try FeedFixture()
    #expect(try await fixture.poll(after: cursor).status == 400)
    #expect(fixture.feed.stream(after: cursor, viewer: FeedFixture.viewer(nil)).status == 400)
  }

  @Test func `A cursor that the ledger does not have gets 410`() async throws {
    let fixture = try FeedFixture()
    let old = try fixture.cursor
    try fixture.sell(["t-1"])
    let new = try fixture.cursor
    let date = FeedFixture.date.addingTimeInterval(1)
    try fixture.ledger.pruneEvents(before: date, now: date)
    let incarnation = try #require(new.split(separator: ".").first)
    for cursor in [old, "\(incarnation).999", "other.1"] {
      let response = try await fixture.poll(after: cursor)
      #expect(response.status == 410)
      #expect(response.field("Content-Type") == "application/problem+json")
      #expect(fixture.feed.stream(after: cursor, viewer: FeedFixture.viewer(nil)).status == 410)
    }
    #expect(try await fixture.poll(after: new).status == 200)
  }

  @Test func `A restored ledger ends waiting requests with 410`() async throws {
    let fixture = try FeedFixture()
    let response = fixture.start()
    try fixture.execute("UPDATE ledger SET incarnation = 'restored'")
    fixture.feed.wake()
    #expect(try await response.response.status == 410)
  }

  @Test func `Closing answers all waiting requests, and later ones get 503`() async throws {
    let fixture = try FeedFixture()
    let responses = (1...20).map { _ in fixture.start() }
    fixture.feed.close()
    for response in responses {
      #expect(response.value?.status == 200)
      #expect(try response.value?.events.isEmpty == true)
    }
    let late = try await fixture.start().response
    #expect(late.status == 503)
    #expect(late.field("Retry-After") != nil)
    #expect(fixture.feed.stream(after: nil, viewer: FeedFixture.viewer(nil)).status == 503)
  }

  @Test func `More receivers than the maximum get 503 until others have left`() async throws {
    let fixture = try FeedFixture(maximumReceivers: 2)
    let waiting = fixture.start(wait: .seconds(10))
    let reader = try fixture.stream()
    let refused = try await fixture.start().response
    #expect(refused.status == 503)
    #expect(refused.field("Retry-After") != nil)
    // Without waiting, it needs no place.
    #expect(try await fixture.poll(after: nil).status == 200)
    reader.stream.cancel()
    fixture.advance(.seconds(11))
    #expect(try await waiting.response.status == 200)
    await waitUntil {
      fixture.feed.stream(after: nil, viewer: FeedFixture.viewer(nil)).status == 200
    }
  }
}
