import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// A store server whose syncs are delayed, or hang.
///
/// `SyncDelay` knows when each sync of the ledger's log began and ended. Without a sync, a power
/// failure can lose a commit that every process sees.
@Suite(
  "Nothing is answered or reported before it is durable", .waiting, .serialized,
  .slow,
  .enabled(if: SyncDelay.isUsable, Comment(rawValue: SyncDelay.reason)),
  .timeLimit(.hang))
struct StoreServerDurabilityTests {
  private static let count = 32
  private static let milliseconds = 200
  /// Longer than a test: such a sync hangs until the test ends it.
  private static let forever = 3_600_000

  /// A server, and the position before all purchases.
  private final class Shop {
    let delay: SyncDelay
    let place: SellingPlace
    let database: ServerDatabase
    var server: SellingProcess
    let cursor: String

    init(_ database: ServerDatabase) throws {
      let delay = try SyncDelay()
      let postgres =
        try database == .postgres
        ? PostgresServer(["fsync=on"], environment: delay.environment) : nil
      let place = try SellingPlace(productCount: 1, postgres: postgres)
      self.delay = delay
      self.place = place
      self.database = database
      server = try place.start(environment: delay.environment)
      let answer = try place.connect().call("GET", "/v1/events")
      cursor = try #require(answer.object["cursor"] as? String, "\(answer.body)")
    }

    // Otherwise, PostgreSQL could not remove the database.
    deinit { try? delay.set(milliseconds: 0) }

    /// Whether a sync is of the ledger's log.
    func isOfLog(_ sync: SyncDelay.Sync) -> Bool {
      database == .sqlite
        ? sync.path.hasSuffix("/data/ledger.sqlite-wal") : sync.path.contains("/pg_wal/")
    }

    /// The purchase `order-NUMBER`.
    func order(_ number: Int) -> (key: String, body: String) {
      ("order-\(number)", place.order(of: place.products[0], account: "alice-\(number)"))
    }

    /// Whether a sync of the log began after `start` and was complete at `end`.
    func hasSynced(since start: Int64, until end: Int64) -> Bool {
      delay.completed.contains { isOfLog($0) && $0.begin >= start && $0.end <= end }
    }

    /// The syncs since `start`, for messages.
    func syncs(since start: Int64) -> String {
      delay.completed.filter { $0.end >= start }
        .map { "\($0.process): \($0.begin - start)–\($0.end - start) \($0.path)" }
        .joined(separator: "\n")
    }
  }

  /// An answer or an event, with times in nanoseconds.
  private struct Message: Sendable {
    let key: String
    let isEvent: Bool
    let sent: Int64
    let received: Int64
    let status: Int
    let text: String
  }

  /// Receives events with long polls until there are `count`.
  private static func events(
    _ place: SellingPlace, after start: String, count: Int
  ) throws -> [Message] {
    let connection = try place.connect()
    var (cursor, messages): (String, [Message]) = (start, [])
    while messages.count < count {
      let sent = SyncDelay.now()
      let answer = try connection.call("GET", "/v1/events?after=\(cursor)&wait=30")
      let received = SyncDelay.now()
      let events = try #require(answer.object["events"] as? [[String: Any]], "\(answer.body)")
      cursor = try #require(answer.object["cursor"] as? String)
      if events.isEmpty { throw ChildProcess.Failure("There were \(messages.count) events") }
      messages += events.map { event in
        Message(
          key: event["transaction"] as? String ?? "", isEvent: true, sent: sent,
          received: received, status: answer.status, text: "\(event)")
      }
    }
    return messages
  }

  @Test(arguments: ServerDatabase.available)
  func `a purchase is answered and reported after a sync that began after its request`(
    database: ServerDatabase
  ) throws {
    let shop = try Shop(database)
    let (place, cursor) = (shop.place, shop.cursor)
    let orders = (0..<Self.count).map(shop.order)
    try shop.delay.set(milliseconds: Self.milliseconds)
    // One thread more for the events.
    let messages = try onThreads(Self.count + 1) { number in
      guard number < orders.count else {
        return try Self.events(place, after: cursor, count: orders.count)
      }
      let connection = try place.connect()
      let sent = SyncDelay.now()
      let answer = try connection.call(
        "POST", "/v1/purchases", key: orders[number].key, body: orders[number].body)
      return [
        Message(
          key: orders[number].key, isEvent: false, sent: sent, received: SyncDelay.now(),
          status: answer.status, text: answer.body)
      ]
    }.flatMap { $0 }
    let answers = messages.filter { !$0.isEvent }
    let sent = Dictionary(answers.map { ($0.key, $0.sent) }) { first, _ in first }
    #expect(messages.count == 2 * Self.count && sent.count == Self.count)
    for message in messages {
      #expect(message.status == (message.isEvent ? 200 : 201), "\(message)")
      let start = try #require(sent[message.key], "\(message)")
      #expect(message.received - start >= Int64(Self.milliseconds) * 1_000_000, "\(message)")
      #expect(
        shop.hasSynced(since: start, until: message.received),
        "\(message.received - start) ns: \(message)\n\(shop.syncs(since: start))")
    }
    let first = sent.values.min() ?? 0
    let last = answers.map(\.received).max() ?? 0
    let syncs = shop.delay.completed.filter {
      shop.isOfLog($0) && $0.begin >= first && $0.end <= last
    }
    print(
      "durability (\(database)): \(answers.count) purchases, \(syncs.count) syncs of the log")
  }

  @Test(arguments: ServerDatabase.available)
  func `while a sync hangs, purchases are not answered, shown or reported`(
    database: ServerDatabase
  ) throws {
    let shop = try Shop(database)
    let orders = (0..<Self.count).map(shop.order)
    let buyers = try begin(orders, shop)

    let reader = try shop.place.connect()
    for order in orders {
      let answer = try reader.call("GET", "/v1/purchases/\(order.key)")
      #expect(answer.status == 404, "\(order.key): \(answer.body)")
    }
    for list in ["entitlements", "history"] {
      let answer = try reader.call("GET", "/v1/accounts/alice-0/\(list)")
      let shown = answer.object["transactions"] as? [Any]
      #expect(answer.status == 200 && shown?.isEmpty == true, "\(answer.body)")
    }
    let poll = try reader.call("GET", "/v1/events?after=\(shop.cursor)&wait=1")
    #expect((poll.object["events"] as? [Any])?.isEmpty == true, "\(poll.body)")
    for (order, buyer) in zip(orders, buyers) {
      #expect(!buyer.hasInput, "\(order.key) is answered during the sync")
    }

    let released = SyncDelay.now()
    try shop.delay.set(milliseconds: 0)
    for (order, buyer) in zip(orders, buyers) {
      let answer = try buyer.receive()
      #expect(answer.status == 201, "\(order.key): \(answer.body)")
    }
    #expect(shop.delay.completed.contains { shop.isOfLog($0) && $0.end >= released })
    let events = try Self.events(shop.place, after: shop.cursor, count: orders.count)
    #expect(events.map(\.key).sorted() == orders.map(\.key).sorted())
  }

  /// The purchase in an answer; each has another signature.
  private func unsigned(_ answer: APIClient.Response) -> String {
    SalesBook.document(answer.object)
  }

  /// The first request after a crash.
  enum FirstRequest: String, CaseIterable, Sendable {
    case purchase, lookUp, entitlements, events
  }

  @Test(arguments: ServerDatabase.available, FirstRequest.allCases)
  func `a purchase whose sync was killed is only shown after another sync`(
    database: ServerDatabase, request: FirstRequest
  ) throws {
    let shop = try Shop(database)
    let order = shop.order(0)
    let buyer = try #require(try begin([order], shop).first)
    let killed = SyncDelay.now()
    try crash(shop)
    if let answer = try? buyer.receive() {
      // Only the database was killed: the server may say so, or commit once more.
      #expect(database == .postgres && [201, 503].contains(answer.status), "\(answer.body)")
    }

    let reader = try shop.place.connect()
    let (first, isShown) = try ask(request, order, shop, reader)
    let answered = SyncDelay.now()
    if isShown {
      #expect(
        shop.hasSynced(since: killed, until: answered),
        """
        \(order.key) was shown without a sync since the kill: \(first.status) \(first.body)
        Syncs:
        \(shop.syncs(since: killed))
        """)
    }
    // If it was lost, it is sold now.
    let again = try repeated(reader) {
      try $0.call("POST", "/v1/purchases", key: order.key, body: order.body)
    }
    let end = SyncDelay.now()
    #expect([200, 201].contains(again.status), "\(again.body)")
    #expect(shop.hasSynced(since: killed, until: end), "\(shop.syncs(since: killed))")
    let known = try reader.call("GET", "/v1/purchases/\(order.key)")
    #expect(
      known.status == 200 && unsigned(known) == unsigned(again), "\(known.body)\n\(again.body)")
    if request == .purchase || request == .lookUp, isShown {
      #expect(unsigned(first) == unsigned(again), "\(first.body)\n\(again.body)")
    }
    let events = try Self.events(shop.place, after: shop.cursor, count: 1)
    #expect(events.map(\.key) == [order.key])
  }

  /// Lets syncs hang, sends purchases over a connection each, and waits for a sync of the log.
  private func begin(
    _ orders: [(key: String, body: String)], _ shop: Shop
  ) throws -> [StoreConnection] {
    // PostgreSQL may also sync its log without a purchase, which then waits for that sync.
    let start = SyncDelay.now()
    try shop.delay.set(milliseconds: Self.forever)
    let buyers = try orders.map { order in
      let connection = try shop.place.connect()
      connection.send("POST", "/v1/purchases", key: order.key, body: order.body)
      return connection
    }
    // An answer would end the wait, too, and then fail the test.
    shop.server.process.wait {
      shop.delay.begun.contains { shop.isOfLog($0) && $0.begin >= start }
        || buyers.contains(where: \.hasInput)
    }
    #expect(shop.server.process.isRunning, "\(shop.server.log)")
    return buyers
  }

  /// Kills the process with the hanging sync, and starts it again with short delays.
  private func crash(_ shop: Shop) throws {
    if let postgres = shop.place.postgres {
      // A signal to stop would wait: the server syncs a file first.
      try postgres.kill()
      // Its recovery has a thousand syncs.
      try shop.delay.set(milliseconds: 0)
      try postgres.start()
      try shop.delay.set(milliseconds: Self.milliseconds)
    } else {
      shop.server.process.kill(SIGKILL)
      shop.server.process.waitUntilExit()
      try shop.delay.set(milliseconds: Self.milliseconds)
      shop.server = try shop.place.start(environment: shop.delay.environment)
    }
  }

  /// Sends the first request after a crash; returns its answer, and whether it shows the purchase.
  private func ask(
    _ request: FirstRequest, _ order: (key: String, body: String), _ shop: Shop,
    _ reader: StoreConnection
  ) throws -> (answer: APIClient.Response, isShown: Bool) {
    let answer = try repeated(reader) { reader in
      switch request {
      case .purchase:
        try reader.call("POST", "/v1/purchases", key: order.key, body: order.body)
      case .lookUp: try reader.call("GET", "/v1/purchases/\(order.key)")
      case .entitlements: try reader.call("GET", "/v1/accounts/alice/entitlements")
      case .events: try reader.call("GET", "/v1/events?after=\(shop.cursor)")
      }
    }
    return (answer, answer.status < 300 && answer.body.contains("\"\(order.key)\""))
  }

  /// Repeats a request until the server has a connection to its database.
  private func repeated(
    _ connection: StoreConnection, _ request: (StoreConnection) throws -> APIClient.Response
  ) throws -> APIClient.Response {
    var answer = try request(connection)
    try blockUntil {
      guard answer.status == 503 || answer.status == 409 else { return true }
      answer = try request(connection)
      return false
    }
    return answer
  }
}
