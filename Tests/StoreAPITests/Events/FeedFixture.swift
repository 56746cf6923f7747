import HostedHTTPValues
import HostedConcurrency
import HostedModel
import HostedDigests
import FoundationEssentials
import HostedStoreAPI
import HostedShop
import HostedTestSupport
import Testing

/// A feed of a ledger in a temporary folder, with clocks that the test advances.
final class FeedFixture: Sendable {
  let folder: TemporaryFolder
  let database: SQLiteLedger
  let ledger: Ledger
  let feed: EventFeed
  private let clock: Clock

  /// The date of all changes.
  static let date = Date(timeIntervalSince1970: 1_800_000_000)

  private final class Clock: Sendable {
    let time = Mutex(ContinuousClock.now)
  }

  init(maximumReceivers: Int = 100) throws {
    let clock = Clock()
    self.clock = clock
    folder = try TemporaryFolder()
    database = try SQLiteLedger(in: folder.directory)
    ledger = Ledger(database)
    feed = EventFeed(
      ledger, maximumReceivers: maximumReceivers, clock: { clock.time.withLock { $0 } })
    try publish()
  }

  deinit { feed.close() }

  /// Moves the clock for waits, and wakes the feed.
  func advance(_ duration: Duration) {
    clock.time.withLock { $0 += duration }
    feed.wake()
  }

  // MARK: The ledger

  var cursor: String {
    get throws {
      let position = try #require(try ledger.head()).position
      return "\(position.incarnation).\(position.sequence)"
    }
  }

  func publish() throws { _ = try ledger.commit([.publish], at: Self.date) }

  /// Sells one product in each transaction, in one commit, and does not wake the feed.
  func sell(_ transactions: [String], to account: AccountID = "ada") throws {
    let drafts = try transactions.map { try PurchaseDraft(test: $0, "space", account) }
    for result in try ledger.commit(drafts.map { .purchase($0) }, at: Self.date) {
      _ = try result.get()
    }
  }

  func execute(_ sql: String) throws { try database.write { try $0.run(sql) } }

  // MARK: Requests

  static func viewer(_ account: AccountID?) -> AccountAccess {
    AccountAccess(restriction: account, keyAccount: "key-own")
  }

  /// Starts a request; its response is set when it has one.
  func start(
    after cursor: String? = nil, account: AccountID? = nil, wait: Duration = .seconds(30),
    limit: Int = 200
  ) -> Watched<HTTPResponse<APIBody>?> {
    let response = Watched<HTTPResponse<APIBody>?>(nil)
    feed.poll(after: cursor, viewer: Self.viewer(account), wait: wait, limit: limit) { found in
      response.change { $0 = found }
    }
    return response
  }

  /// Returns the response of a request that does not wait.
  func poll(after cursor: String?, account: AccountID? = nil, limit: Int = 200) async throws
    -> HTTPResponse<APIBody>
  {
    try await start(after: cursor, account: account, wait: .zero, limit: limit).response
  }

  func stream(after cursor: String? = nil, account: AccountID? = nil) throws -> StreamReader {
    let response = feed.stream(after: cursor, viewer: Self.viewer(account))
    #expect(response.status == 200)
    #expect(response.field("Content-Type") == "text/event-stream")
    #expect(response.field("Cache-Control") == "no-store")
    #expect(response.field("X-Accel-Buffering") == "no")
    guard case .stream(let stream) = response.body else { throw UnexpectedBody() }
    return StreamReader(stream)
  }
}

struct UnexpectedBody: Error {}

extension Watched<HTTPResponse<APIBody>?> {
  /// The response, after it was set.
  var response: HTTPResponse<APIBody> {
    get async throws {
      await wait { $0 != nil }
      return try #require(value)
    }
  }
}

extension HTTPResponse<APIBody> {
  func field(_ name: String) -> String? { headers[name] }

  var json: JSONValue {
    get throws {
      guard case .bytes(let bytes) = body else { throw UnexpectedBody() }
      return try JSONValue(parsing: bytes)
    }
  }

  var events: [EventMessage] {
    get throws {
      guard case .array(let events)? = try json["events"] else { throw UnexpectedBody() }
      return try events.map { try EventMessage(json: $0) }
    }
  }

  /// The transactions of the events; nil for events without one.
  var transactions: [String?] { get throws { try events.map { $0.purchase?.transaction } } }

  var cursor: String { get throws { try #require(try json["cursor"]?.string) } }
}

extension PurchaseDraft {
  init(
    test transaction: String, _ product: ProductIdentifier, _ account: AccountID?,
    state: PurchaseState = .purchased, contents: [ContentKey] = []
  ) throws {
    self.init(
      transaction: transaction, account: account, product: product, quantity: 1,
      requestDigest: try Digest(of: Array(transaction.utf8)), state: state, contents: contents,
      isRestorable: true)
  }
}

/// Reads a stream as an HTTP server does.
struct StreamReader: Sendable {
  let stream: any ResponseStream

  init(_ stream: any ResponseStream) { self.stream = stream }

  /// Returns the next part; waits until there is one.
  func part(_ limit: Int = 16_384) async -> ResponsePart {
    while true {
      let isReady = Watched(false)
      let part = stream.next(limit) { isReady.change { $0 = true } }
      guard case .wait = part else { return part }
      await isReady.wait { $0 }
    }
  }

  /// Returns the text until it contains `end`, or until the stream ends.
  func text(until end: String, limit: Int = 16_384) async -> String {
    var bytes: [UInt8] = []
    var text = ""
    while !text.contains(end), case .bytes(let part) = await self.part(limit) {
      #expect(!part.isEmpty && part.count <= limit)
      bytes += part
      text = String(decoding: bytes, as: UTF8.self)
    }
    return text
  }

  /// Whether the stream ends without more bytes.
  func isAtEnd() async -> Bool { if case .end = await part() { true } else { false } }
}
