import HostedHTTPValues
import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// A store over HTTP, on our test server.
@Suite("A store on the web", .timeLimit(.hang))
struct WebStoreTests {
  private let fixture: StoreFixture
  private let server: FileServer

  init() throws {
    fixture = try StoreFixture()
    server = try fixture.server()
  }

  private func queue(
    _ url: String? = nil, _ change: (inout PaymentQueue.Configuration) throws -> Void = { _ in }
  ) throws -> PaymentQueue {
    try fixture.queue(at: url ?? server.url) {
      $0.network.firstRetryDelay = .milliseconds(10)
      try change(&$0)
    }
  }

  private func deliver(_ name: String, _ queue: PaymentQueue) async throws {
    _ = try await queue.deliver(Payment(productIdentifier: try ProductIdentifier(validating: name)))
  }

  /// 6 MiB of random bytes, so that the package has several pieces.
  private static let noise: [String: [UInt8]] = {
    var random = SplitMix(state: 4)
    return ["Contents/noise.bin": random.bytes(6 << 20)]
  }()

  @Test("A purchase and a later update are fetched, verified and installed")
  func story() async throws {
    try fixture.publish("a", "1.0", files: Self.noise)
    let queue = try queue()
    try await deliver("a", queue)
    try fixture.expectInstalled("a", "1.0", files: Self.noise)
    try fixture.publish("a", "1.1")
    let update = try #require(try await queue.availableUpdates().first)
    _ = try await queue.deliver(update)
    try fixture.expectInstalled("a", "1.1")
    #expect(queue.statistics.transfers.bytesWasted == 0)
    #expect(queue.statistics.transfers.failures.isEmpty)
  }

  @Test(
    "The announced bytes of an update are those that the server sends, at most a full download",
    .slow,
    arguments: ["a page", "many pages", "a film's middle", "everything"])
  func updateCost(change: String) async throws {
    var random = SplitMix(state: 9)
    var files = ["Contents/film.bin": random.bytes(2 << 20)]
    for number in 0..<120 { files["Contents/page-\(number)"] = random.bytes(6000) }
    try fixture.publish("a", "1.0", files: files)
    let queue = try queue()
    try await deliver("a", queue)
    switch change {
    case "a page": files["Contents/page-7"] = random.bytes(5000)
    case "many pages":
      for number in 0..<12 { files["Contents/page-\(number * 10)"] = random.bytes(6000) }
    case "a film's middle": files["Contents/film.bin"]?.insert(contentsOf: [1, 2], at: 1 << 20)
    default: for name in files.keys { files[name] = random.bytes(files[name]?.count ?? 0) }
    }
    try fixture.publish("a", "1.1", files: files)
    let update = try await fixture.update(at: server.url)
    server.clearRequests()
    _ = try await queue.deliver(update)
    queue.close()
    try fixture.expectInstalled("a", "1.1", files: files)
    let sent = server.requests
      .filter { $0.path.hasSuffix(".pkg") || $0.path.hasSuffix(".index") }
      .reduce(0) { $0 + $1.bytesSent }
    #expect(sent == update.bytesToMove)
    #expect(sent <= update.bytesInFull)
    #expect(update.wholePackageReason == nil)
  }

  @Test("The root of a web store is not trusted without trust on first use")
  func root() async throws {
    try fixture.publish("a", "1.0")
    let careful = try queue { $0.trustedRoot = nil }
    let error = await #expect(throws: ContentError.self) { try await deliver("a", careful) }
    #expect(error?.code == .rootMissing)
    careful.close()
    let trusting = try queue {
      $0.trustedRoot = nil
      $0.trustsOnFirstUse = true
    }
    try await deliver("a", trusting)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("After trust on first use, the root of another store is refused and installs nothing")
  func rootOfAnotherStore() async throws {
    try fixture.publish("a", "1.0")
    let trusting = try queue {
      $0.trustedRoot = nil
      $0.trustsOnFirstUse = true
    }
    _ = try await trusting.products(["a"])
    trusting.close()
    let other = try StoreFixture()
    let root = try withExtendedLifetime(other) { try other.store.initialRoot() }
    for trustsOnFirstUse in [false, true] {
      let careful = try queue {
        $0.trustedRoot = root
        $0.trustsOnFirstUse = trustsOnFirstUse
      }
      let error = await #expect(throws: ContentError.self) { try await deliver("a", careful) }
      #expect(error?.code == .rootMismatch)
      #expect(error?.remedy.contains("\(fixture.libraryPath)/trust") == true)
      careful.close()
    }
    #expect(try fixture.reader().contents().isEmpty)
    let own = try queue()
    try await deliver("a", own)
    own.close()
    // Follow the remedy: from here on, the other root is trusted.
    try FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/trust")
    let reset = try queue { $0.trustedRoot = root }
    let error = await #expect(throws: ContentError.self) { try await deliver("a", reset) }
    #expect(error?.code == .signatureInvalid)
  }

  @Test("With trust on first use, the first root is fetched once")
  func firstUseOnce() async throws {
    try fixture.publish("a", "1.0")
    let trusting = try queue {
      $0.trustedRoot = nil
      $0.trustsOnFirstUse = true
    }
    for _ in 0..<3 { _ = try await trusting.products(["a"]) }
    #expect(server.requests.filter { $0.path.hasSuffix("/1.root.json") }.count == 1)
  }

  @Test("A mirror replaces an unreachable server")
  func mirror() async throws {
    try fixture.publish("a", "1.0", files: Self.noise)
    let gone = try fixture.server()
    let url = gone.url
    gone.stop()
    let queue = try queue(url) { $0.mirrors = [try StoreLocation(server.url)] }
    try await deliver("a", queue)
    try fixture.expectInstalled("a", "1.0", files: Self.noise)
    #expect(queue.statistics.transfers.bytesByHost.count == 1)
  }

  @Test("A mirror of another kind than the store is refused")
  func wrongMirror() throws {
    let error = #expect(throws: ContentError.self) {
      try queue { $0.mirrors = [try StoreLocation("/folder")] }
    }
    #expect(error?.code == .usage)
    let other = #expect(throws: ContentError.self) {
      try queue(fixture.storePath) { $0.mirrors = [try StoreLocation(server.url)] }
    }
    #expect(other?.code == .usage)
  }

  @Test("Credentials are sent with every request to the store, and are not in errors")
  func credentials() async throws {
    try fixture.publish("a", "1.0")
    try server.setFaults(FaultScript("/targets/*.pkg status 401"))
    let queue = try queue { $0.network.bearerToken = "secret-of-ann" }
    let error = await #expect(throws: ContentError.self) { try await deliver("a", queue) }
    #expect(error?.code == .accessDenied)
    #expect(error.map { "\($0)\($0.cause ?? "")" }?.contains("secret") == false)
    let requests = server.requests
    #expect(requests.allSatisfy { $0.request.headers["authorization"] == "Bearer secret-of-ann" })
    #expect(!requests.isEmpty)
  }

  @Test("Credentials for a store or mirror over plain HTTP are refused unless allowed")
  func plainHTTP() throws {
    let away = "http://store.invalid:8080/store"
    let refused: [(inout PaymentQueue.Configuration) throws -> Void] = [
      { $0.network.bearerToken = "secret" }, { $0.network.headers = ["X-Key": "secret"] },
    ]
    for change in refused {
      let error = #expect(throws: ContentError.self) { try queue(away, change) }
      #expect(error?.code == .insecureConnectionRefused)
      let mirrored = #expect(throws: ContentError.self) {
        try queue {
          try change(&$0)
          $0.mirrors = [try StoreLocation(away)]
        }
      }
      #expect(mirrored?.code == .insecureConnectionRefused)
      try queue(away) {
        try change(&$0)
        $0.network.plainHTTPOrigins = [try #require(URL(string: "http://store.invalid:8080"))]
      }.close()
    }
    let wrong = #expect(throws: ContentError.self) {
      try queue { $0.network.plainHTTPOrigins = [URL(filePath: "/store")] }
    }
    #expect(wrong?.code == .usage)
  }

  @Test("A download that waits for a retry has the reason and the end of the wait")
  func waiting() async throws {
    try fixture.publish("a", "1.0")
    try server.setFaults(FaultScript("/targets/*.pkg status 503 retry-after 60 once"))
    let queue = try queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    let reports = queue.reports()
    queue.start(transaction.downloads)
    let download = try #require(transaction.downloads.first)
    var wait: TransferWait?
    for await report in reports where wait == nil {
      if case .downloads = report { wait = download.wait }
      if wait != nil { break }
    }
    #expect(download.phase == .waiting)
    guard case .serverAsked(code: let code, message: let message)? = wait?.reason else {
      Issue.record("\(String(describing: wait))")
      return
    }
    #expect(code == .serverBusy)
    #expect(message.contains("503"))
    #expect(try #require(wait?.until) > Date())
    queue.cancel(transaction.downloads)
    for await report in reports {
      if case .downloads(let updates) = report, updates.contains(where: { $0.state == .cancelled })
      {
        break
      }
    }
    #expect(download.wait == nil)
    #expect(download.phase == nil)
  }

  @Test("Statistics of a download have retries with their reasons, and fetched bytes")
  func statistics() async throws {
    try fixture.publish("a", "1.0", files: Self.noise)
    try server.setFaults(FaultScript("/targets/*.pkg status 500 once"))
    let queue = try queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    let download = try #require(transaction.downloads.first)
    _ = try await queue.install(transaction)
    let statistics = download.statistics
    #expect(statistics.failures == ["status 500": 1])
    #expect(statistics.bytesFetched >= download.expectedContentLength)
    #expect(statistics.requests >= 2)
    #expect(statistics.protocolName?.hasPrefix("HTTP/1.1") == true)
    #expect(statistics.timeToFirstByte.map { $0 >= .zero } == true)
  }

  @Test("Closing a queue ends a transfer that waits for the server, and keeps its data", .slow)
  func closing() async throws {
    try fixture.publish("a", "1.0", files: Self.noise)
    try server.setFaults(FaultScript("/targets/*.pkg stall 300kB"))
    let first = try queue()
    let transaction = try await first.purchase(Payment(productIdentifier: "a"))
    let reports = first.reports()
    first.start(transaction.downloads)
    for await report in reports {
      if case .downloads(let updates) = report, updates.contains(where: { $0.progress > 0 }) {
        break
      }
    }
    first.close()
    let fetched = first.statistics.bytesFetched
    #expect(fetched > 0)
    try server.setFaults(.none)
    let second = try queue()
    let open = try #require(second.transactions.first)
    _ = try await second.install(open)
    try fixture.expectInstalled("a", "1.0", files: Self.noise)
    let length = try #require(open.downloads.first).expectedContentLength
    // All but the bytes around the members in the archive, each member once.
    let sum = fetched + second.statistics.bytesFetched
    #expect(sum <= length && sum > length - (16 << 10))
    #expect(second.statistics.bytesReused == fetched)
  }

  @Test("Store locations are parsed from text, and invalid ones are refused")
  func locations() throws {
    #expect(try StoreLocation("http://example.com/store").description == "http://example.com/store")
    #expect(try StoreLocation("/a/b").description == "/a/b")
    #expect(try StoreLocation("file:///a%20b").description == "/a b")
    #expect(try StoreLocation("https://h/s?sig=1").description == "https://h/s")
    let invalid = [
      "ftp://h/s", "http://", "https://ann:secret@h/", "file://elsewhere/s", "file://",
      "file:///a%00b", "",
    ]
    for text in invalid {
      let error = #expect(throws: ContentError.self) { try StoreLocation(text) }
      #expect(error?.code == .usage)
      #expect(error.map { "\($0)" }?.contains("secret") == false)
    }
  }
}
