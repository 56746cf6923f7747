import HostedHTTPValues
import HostedConcurrency
import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Content that a web server sends only for URLs of the service.
@Suite("Content for buyers only", .timeLimit(.hang))
struct GatedContentTests {
  private let fixture: StoreFixture
  private let gate: BuyersGate
  private let server: FileServer

  init() throws {
    fixture = try StoreFixture()
    let gate = BuyersGate()
    server = try fixture.server { $0.authorize = { gate.refusal(of: $0) } }
    self.gate = gate
  }

  private func queue(
    _ change: (inout PaymentQueue.Configuration) throws -> Void = { _ in }
  ) throws -> PaymentQueue {
    try fixture.queue(at: server.url) {
      $0.network.firstRetryDelay = .milliseconds(10)
      $0.network.limits.connectionsPerTransfer = 1
      $0.seller = gatedService()
      try change(&$0)
    }
  }

  private func gatedService() -> @Sendable (any StoreService) -> any StoreService {
    { [gate, url = server.url] in GatedContentService(base: $0, gate: gate, contentURL: url) }
  }

  private func payment(_ name: String, account: AccountID? = nil) throws -> Payment {
    Payment(
      productIdentifier: try ProductIdentifier(validating: name), applicationUsername: account)
  }

  /// 6 MiB of random bytes, so that the package needs two requests.
  private static let noise: [String: [UInt8]] = {
    var random = SplitMix(state: 4)
    return ["Contents/noise.bin": random.bytes(6 << 20)]
  }()

  private var contentRequests: [ServedRequest] {
    server.requests.filter { BuyersGate.isGated($0.path) }
  }

  /// Fails the test if more bytes of a file were sent than it has.
  private func expectNothingTwice() throws {
    let granted = contentRequests.filter { $0.status == 200 || $0.status == 206 }
    for (path, requests) in Dictionary(grouping: granted, by: \.path) {
      let length = try Data(contentsOf: URL(filePath: fixture.storePath + path)).count
      #expect(requests.reduce(0) { $0 + $1.bytesSent } <= length)
    }
  }

  /// Fails the test if a file of the library contains a signed URL.
  private func expectNoSecretOnDisk() throws {
    let secret = Data(BuyersGate.secret.utf8)
    let files = try #require(FileManager.default.enumerator(atPath: fixture.libraryPath))
    for case let name as String in files {
      let path = "\(fixture.libraryPath)/\(name)"
      guard let bytes = FileManager.default.contents(atPath: path) else { continue }
      #expect(bytes.range(of: secret) == nil, "\(name)")
    }
  }

  @Test("Content is installed through a gate whose URLs soon expire, and nothing is sent twice")
  func expiring() async throws {
    gate.change { $0.requestsPerSecret = 3 }
    let names = (1...6).map { "product\($0)" }
    for name in names { try fixture.publish(name, "1.0") }
    let queue = try queue()
    for name in names { _ = try await queue.deliver(payment(name)) }
    queue.close()
    for name in names { try fixture.expectInstalled(name, "1.0") }
    try expectNothingTwice()
    let refusals = contentRequests.count { $0.status == 403 }
    #expect(refusals > 0)
    // One call for each product, and one for each renewal.
    #expect(gate.calls.count <= names.count + refusals)
  }

  @Test("One call asks for the content of all downloads that wait", .slow)
  func oneCall() async throws {
    let names = (1...8).map { "product\($0)" }
    for name in names { try fixture.publish(name, "1.0") }
    let queue = try queue()
    var transactions: [PaymentTransaction] = []
    for name in names { transactions.append(try await queue.purchase(payment(name))) }
    queue.start(transactions.flatMap(\.downloads))
    for transaction in transactions { _ = try await queue.install(transaction) }
    #expect(gate.calls.map(\.contents.count) == [names.count])
    queue.close()
  }

  @Test("A content that the account does not own fails alone")
  func oneRefused() async throws {
    let names = ["a", "b", "c"]
    for name in names { try fixture.publish(name, "1.0") }
    gate.change { $0.revoked = ["b"] }
    let queue = try queue()
    var transactions: [PaymentTransaction] = []
    for name in names { transactions.append(try await queue.purchase(payment(name))) }
    queue.start(transactions.flatMap(\.downloads))
    _ = try await queue.install(transactions[0])
    _ = try await queue.install(transactions[2])
    let error = await #expect(throws: ContentError.self) {
      try await queue.install(transactions[1])
    }
    #expect(error?.code == .accessDenied)
    #expect(contentRequests.allSatisfy { !$0.path.contains("/b/") })
    queue.close()
  }

  @Test("A revocation ends the download; its data stays, and is used after the next grant", .slow)
  func revoked() async throws {
    try fixture.publish("a", "1.0", files: Self.noise)
    let queue = try queue()
    let transaction = try await queue.purchase(payment("a"))
    // The index and the first range of the package.
    gate.change { $0.revokedAfter = (requests: 2, contents: ["a"]) }
    let error = await #expect(throws: ContentError.self) {
      try await queue.install(transaction)
    }
    #expect(error?.code == .accessDenied)
    #expect(error.map { "\($0) \($0.subject ?? "")" }?.contains(BuyersGate.secret) == false)
    let fetched = queue.statistics.bytesFetched
    #expect(fetched > 0)
    try expectNoSecretOnDisk()
    gate.change { state in
      state.revokedAfter = nil
      state.revoked = []
    }
    _ = try await queue.install(transaction)
    try fixture.expectInstalled("a", "1.0", files: Self.noise)
    #expect(queue.statistics.bytesReused == fetched)
    queue.close()
    try expectNoSecretOnDisk()
    let packages = contentRequests.filter {
      $0.path.hasSuffix(".pkg") && ($0.status == 200 || $0.status == 206)
    }
    let download = try #require(transaction.downloads.first)
    #expect(packages.reduce(0) { $0 + $1.bytesSent } <= download.expectedContentLength)
  }

  @Test("Without a service that grants content, it is denied; the catalog is public")
  func noGrants() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue { $0.seller = nil }
    let error = await #expect(throws: ContentError.self) { try await queue.deliver(payment("a")) }
    #expect(error?.code == .accessDenied)
    #expect(contentRequests.allSatisfy { $0.status == 403 })
    queue.close()
  }

  @Test("The store's token is sent for the catalog, but not with signed URLs")
  func noToken() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue { $0.network.bearerToken = "token-of-ann" }
    _ = try await queue.deliver(payment("a"))
    queue.close()
    #expect(!contentRequests.isEmpty)
    for request in server.requests {
      let token = request.request.headers["authorization"]
      #expect((token == nil) == BuyersGate.isGated(request.path), "\(request.path)")
    }
  }

  @Test("A download asks for its buyer, a repair for the library's own account")
  func accounts() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue()
    _ = try await queue.deliver(payment("a", account: "ann"))
    let content = try #require(try fixture.reader().contents().first?.content)
    try FileManager.default.removeItem(
      atPath: "\(fixture.libraryPath)/products/a/1.0/Contents/text.txt")
    #expect(try await queue.repair(content).bytesFetched > 0)
    queue.close()
    #expect(gate.calls.map(\.account) == ["ann", nil])
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("An update is measured with the grants of a service", .slow)
  func measured() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue()
    _ = try await queue.deliver(payment("a"))
    queue.close()
    try fixture.publish("a", "1.1")
    var store = StoreReader(
      try StoreLocation(server.url), trustedRoot: try fixture.store.initialRoot())
    let products = try await store.products().products
    let reader = try fixture.reader()
    let denied = try await onOwnThread { [store] in
      try reader.updates(of: products, from: store)
    }
    #expect(denied.map(\.measuringError?.code) == [.accessDenied])
    let service = gatedService()(EmptyService())
    let measured = try await onOwnThread { [store] in
      try reader.updates(of: products, from: store, service: service)
    }
    #expect(measured.map(\.measuringError) == [nil])
    #expect(gate.calls.last?.contents == ["a"])
    // An error of the service's own type is that of the update, too.
    store.network.attempts = 1
    let failed = try await onOwnThread { [store] in
      try reader.updates(of: products, from: store, service: BrokenService())
    }
    #expect(failed.map(\.measuringError?.code) == [.inconsistent])
  }

  @Test("A queue that closes does not wait for a grant")
  func closing() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue()
    let transaction = try await queue.purchase(payment("a"))
    gate.answers.change { $0 = false }
    queue.start(transaction.downloads)
    await gate.waitForCall()
    await onOwnThread { queue.close() }
    gate.answers.change { $0 = true }
  }

  @Test("If the service was closed before its queue, a download fails and is not repeated")
  func closedService() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue()
    let transaction = try await queue.purchase(payment("a"))
    gate.change { $0.isClosed = true }
    let error = await #expect(throws: ContentError.self) { try await queue.install(transaction) }
    #expect(error?.code == .stopped)
    #expect(gate.calls.count == 1)
    gate.change { $0.isClosed = false }
    _ = try await queue.install(transaction)
    queue.close()
  }
}

/// A content server's rules, and the service's grants for it.
private final class BuyersGate: Sendable {
  static let secret = "signature-of-a-url"

  struct State: Sendable {
    /// Each secret is valid for this many requests.
    var requestsPerSecret = Int.max
    /// The contents without a grant.
    var revoked: Set<String> = []
    /// Whether the service was closed.
    var isClosed = false
    /// The number of granted requests after which contents are revoked.
    var revokedAfter: (requests: Int, contents: Set<String>)?
    fileprivate var generation = 1
    fileprivate var granted = 0
  }

  struct GrantCall: Sendable {
    let contents: [String]
    let account: AccountID?
  }

  private let state = Mutex(State())
  private let grantCalls = Watched<[GrantCall]>([])
  /// Whether the service answers.
  let answers = Watched(true)

  var calls: [GrantCall] { grantCalls.value }

  func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

  func waitForCall() async { await grantCalls.wait { !$0.isEmpty } }

  static func isGated(_ path: String) -> Bool { path.hasSuffix(".pkg") || path.hasSuffix(".index") }

  /// Returns the status of a request without a valid URL.
  func refusal(of request: HTTPRequest) -> Int? {
    guard Self.isGated(request.path) else { return nil }
    return state.withLock { state in
      let query = "?grant=\(Self.secret)-\(state.generation)"
      guard request.target.hasSuffix(query) else { return 403 }
      if let limit = state.revokedAfter, state.granted >= limit.requests {
        state.revoked = limit.contents
        return 403
      }
      state.granted += 1
      if state.granted.isMultiple(of: state.requestsPerSecret) { state.generation += 1 }
      return nil
    }
  }

  /// Returns the URLs of `contents`, or throws if one is revoked.
  func grants(for contents: [ContentOffer], account: AccountID?, at url: String) async throws
    -> ContentGrants
  {
    let names = contents.map(\.contentIdentifier.rawValue)
    grantCalls.change { $0.append(GrantCall(contents: names, account: account)) }
    await answers.wait { $0 }
    let (generation, revoked, isClosed) = state.withLock {
      ($0.generation, $0.revoked, $0.isClosed)
    }
    if isClosed { throw ContentError(.stopped, "The service is closed", remedy: "Open it") }
    guard revoked.isDisjoint(with: names) else {
      throw ContentError(.accessDenied, "The account does not own it", remedy: "Buy it")
    }
    var urls: [String: [URL]] = [:]
    for path in contents.flatMap({ [$0.package.path, $0.index.path] }) {
      let text = "\(url)\(path)?grant=\(Self.secret)-\(generation)"
      urls[path] = [URL(string: text)].compactMap { $0 }
    }
    return ContentGrants(urls: urls, lifetime: .seconds(600))
  }
}

/// Another service, with grants for its content.
private struct GatedContentService: ContentGranting, PartialService {
  let base: any StoreService
  let gate: BuyersGate
  let contentURL: String

  func contentGrants(for contents: [ContentOffer], account: AccountID?) async throws
    -> ContentGrants
  {
    try await gate.grants(for: contents, account: account, at: contentURL)
  }
}

/// A service whose grants fail with an error of its own.
private struct BrokenService: ContentGranting, PartialService {
  struct Failure: Error {}

  func contentGrants(for contents: [ContentOffer], account: AccountID?) async throws
    -> ContentGrants
  {
    throw Failure()
  }
}
