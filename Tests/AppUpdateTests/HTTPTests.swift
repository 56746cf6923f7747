import HostedModel
import HostedFileIO
import FoundationEssentials
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import AppUpdate

/// A server in this process, and the file that it serves.
final class AppServer: Sendable {
  let folder: TemporaryFolder
  let server: FileServer
  let url: URL

  init(faults: String = "") throws {
    folder = try TemporaryFolder()
    var configuration = FileServer.Configuration()
    try configuration.serveApps(ofFolder: folder.path)
    server = try FileServer(
      folder: folder.path, faults: try FaultScript(faults), configuration: configuration)
    try server.start()
    url = try link("\(server.url)")
  }

  deinit { server.stop() }

  /// Offers one app, optionally with more members of its entry.
  func offer(
    _ version: String, _ listingFields: [String: JSONValue] = [:], _ more: [String: JSONValue] = [:]
  ) throws {
    let entry = more.merging(["listing": .object(listing(version, listingFields).fields)]) { $1 }
    let bytes = try JSONEncoder().encode(["apps": [entry]])
    try folder.directory.replaceFile(AppCatalogFile.name, with: Array(bytes))
  }

  func lookup(_ change: (inout AppLookup.Configuration) -> Void = { _ in }) throws -> AppLookup {
    var configuration = AppLookup.Configuration(server: url)
    change(&configuration)
    return AppLookup(configuration, transport: try HTTPLookupTransport())
  }
}

@Suite("Over real HTTP")
struct HTTPTests {
  let key: LookupQuery.Key = .bundleIDs(["com.example.courier"])

  @Test("Lookup, search and version query, from the file to the typed answer")
  func wholeWay() async throws {
    let server = try AppServer()
    try server.offer(
      "2.0", ["fileSizeBytes": .string("99"), "own": .bool(true)],
      ["minimumVersion": .string("1.5"), "downloadUrl": .string("https://get.example/courier")])
    let lookup = try server.lookup()
    let app = try #require(try await lookup.lookUp(LookupQuery(key)).listings.first)
    #expect(app.version == (try version("2.0")))
    #expect(app.fileSizeBytes == 99)
    #expect(app.otherFields == ["own": .bool(true)])
    let byNumber = LookupQuery(.ids([364_709_193]))
    #expect(try await lookup.lookUp(byNumber).listings == [app])
    #expect(try await lookup.search(SearchQuery("cour ier & ü")).listings.isEmpty)
    #expect(try await lookup.search(SearchQuery("COURIER")).listings == [app])

    let source = ServerUpdateSource(
      server: server.url, bundleID: "com.example.courier", transport: try HTTPLookupTransport())
    let answer = try await source.answer(for: try HostedAppUpdateTests.app("1.4"), account: "a&b=ü")
    #expect(answer.requestedAction == .force)
    #expect(answer.downloadURL == (try link("https://get.example/courier")))
    let newer = try await source.answer(for: try HostedAppUpdateTests.app("1.5"), account: nil)
    #expect(newer.requestedAction == .remind)
    #expect(server.server.requests.last?.status == 200)
  }

  @Test("A change of the file takes effect at once, and the file itself is not served")
  func moment() async throws {
    let server = try AppServer()
    let lookup = try server.lookup()
    #expect(await code { try await lookup.lookUp(LookupQuery(key)) } == .requestRefused)
    for version in ["1.0", "2.0"] {
      try server.offer(version)
      let answer = try await lookup.lookUp(LookupQuery(key), caching: .reloadIgnoringAllCaches)
      #expect(answer.listings.first?.versionText == version)
    }
    let count = server.server.requests.count
    _ = try await lookup.lookUp(LookupQuery(key))
    #expect(server.server.requests.count == count, "the answer came from the cache")
    let response = try await HTTPLookupTransport().get(
      LookupRequest(url: try link("\(server.url.absoluteString)apps.json")))
    #expect(response.status == 404)
    try server.folder.directory.replaceFile(AppCatalogFile.name, with: Array("{".utf8))
    let kept = try await lookup.lookUp(LookupQuery(key), caching: .reloadIgnoringAllCaches)
    #expect(kept.listings.first?.versionText == "2.0", "the last valid file is served")
    #expect(code { try serve(server.folder) } == .storeDamaged)
  }

  /// Starts to serve a folder, to get its errors.
  private func serve(_ folder: TemporaryFolder) throws {
    var configuration = FileServer.Configuration()
    try configuration.serveApps(ofFolder: folder.path)
  }

  @Test("An app that is sold in another country is found there")
  func storefronts() async throws {
    let server = try AppServer()
    try server.offer("2.0", [:], ["countries": .array([.string("cn")])])
    let china: CountryCode = "cn"
    let finding = try await server.lookup().find(key, candidates: ["de", china])
    #expect(finding == .elsewhere(listing("2.0"), in: china))
    let unknown = try await server.lookup().find(.bundleIDs(["com.example.none"]))
    #expect(unknown == .unknown(tried: [.us]))
  }

  @Test("A version query finds an app of one country with that country or without a country")
  func country() async throws {
    let server = try AppServer()
    try server.offer("2.0", [:], ["countries": .array([.string("cn")])])
    let answers: [(String?, ContentError.Code?)] = [
      (nil, nil), ("cn", nil), ("us", .requestRefused),
    ]
    for (country, expected) in answers {
      let source = ServerUpdateSource(
        server: server.url, bundleID: "com.example.courier",
        country: try country.map { try CountryCode(validating: $0) },
        transport: try HTTPLookupTransport())
      let app = try HostedAppUpdateTests.app("1.0")
      #expect(await code { try await source.answer(for: app, account: "ada") } == expected)
    }
  }

  @Test("A server's request to wait is respected, and a refused query is an error")
  func refusals() async throws {
    let server = try AppServer(faults: "/lookup status 429 retry-after 86400 once")
    try server.offer("2.0")
    let lookup = try server.lookup()
    for _ in 0..<2 {
      #expect(await code { try await lookup.lookUp(LookupQuery(key)) } == .lookupThrottled)
    }
    #expect(server.server.requests.count == 1, "the second call was not made")
    let other = try server.lookup()
    let question = LookupQuery(.amgArtistIDs([1]))
    #expect(try await other.lookUp(question).listings.isEmpty)
    let source = ServerUpdateSource(
      server: server.url, bundleID: "com.example.none", transport: try HTTPLookupTransport())
    let app = try HostedAppUpdateTests.app("1.0")
    #expect(await code { try await source.answer(for: app, account: nil) } == .requestRefused)
  }

  @Test(
    "Oversized, truncated and non-JSON answers are typed errors, and the next query works", .slow)
  func badAnswers() async throws {
    let server = try AppServer(faults: "/lookup cut 20 3 times")
    try server.offer("2.0", ["description": .string(String(repeating: "x", count: 100_000))])
    let lookup = try server.lookup { $0.timeout = .seconds(5) }
    #expect(
      await code { try await lookup.lookUp(LookupQuery(key)) } != nil, "both attempts broke off")
    _ = try await lookup.lookUp(LookupQuery(key))
    let small = try server.lookup { $0.maximumAnswerSize = 50_000 }
    #expect(await code { try await small.lookUp(LookupQuery(key)) } == .limitExceeded)
    let gone = try AppServer()
    try gone.offer("1.0")
    let late = try gone.lookup { $0.timeout = .seconds(5) }
    gone.server.stop()
    #expect(await code { try await late.lookUp(LookupQuery(key)) } == .connectionRefused)
  }

  @Test("With a negative maximum size, the body of an error is empty")
  func negativeSize() async throws {
    let server = try AppServer()
    let request = LookupRequest(
      url: try link("\(server.url.absoluteString)missing"), maximumSize: -1)
    let response = try await HTTPLookupTransport().get(request)
    #expect(response.status == 404)
    #expect(response.body.isEmpty)
  }

  @Test("A lookup ends at once if its task is canceled")
  func cancel() async throws {
    let server = try AppServer(faults: "/lookup latency 60s")
    try server.offer("2.0")
    let lookup = try server.lookup { $0.timeout = .seconds(3600) }
    let task = Task { try await lookup.lookUp(LookupQuery(key)) }
    task.cancel()
    #expect(await code { try await task.value } == .stopped)
  }

  @Test("From a reminder to a forced update and beyond, controlled by the file")
  func story() async throws {
    let server = try AppServer()
    let clock = TestClock()
    let source = ServerUpdateSource(
      server: server.url, bundleID: "com.example.courier", transport: try HTTPLookupTransport())
    func checker(_ installed: String) throws -> AppUpdateChecker {
      let configuration = AppUpdateChecker.Configuration(
        app: try HostedAppUpdateTests.app(installed),
        folder: URL(filePath: server.folder.path("memory")))
      return try AppUpdateChecker(
        configuration, source: source, clock: clock.clock, fileSystem: .real)
    }
    try server.offer("1.0")
    let first = try checker("1.0")
    try await first.logIn(account: "ada", answer: nil)
    #expect(await first.enterForeground().reason == .upToDate)

    try server.offer("2.0")
    #expect(await first.enterForeground().reason == .checkedRecently(until: noon + hour))
    clock.advance(hour)
    #expect(await first.enterForeground().action == .remind)
    clock.advance(hour)
    #expect(await first.enterForeground().reason == .remindedRecently(until: noon + hour + day))

    try server.offer("2.0", [:], ["forcedAccounts": .array([.string("ada")])])
    #expect(await first.check().action == .force)
    #expect(throws: UpdateRequired.self) { try first.gate.enter("send order") }

    let updated = try checker("2.0")
    try updated.gate.enter("send order")
    #expect(await updated.check().reason == .upToDate)
    try server.offer("1.5")
    #expect(await updated.check().reason == .offerIsOlder)
  }
}
