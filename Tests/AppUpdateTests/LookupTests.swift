import HostedConcurrency
import HostedModel
import FoundationEssentials
import Testing

@testable import AppUpdate

@Suite("App lookup")
struct LookupTests {
  let clock = TestClock()
  let key: LookupQuery.Key = .ids([364_709_193])

  private func lookup(
    _ transport: ScriptedTransport, _ change: (inout AppLookup.Configuration) -> Void = { _ in }
  ) throws -> AppLookup {
    var configuration = AppLookup.Configuration(server: try link("https://store.example/base/"))
    change(&configuration)
    return AppLookup(configuration, transport: transport, clock: clock.clock)
  }

  @Test("A lookup requests the server's /lookup for the storefront, with limit and timeout")
  func request() async throws {
    let transport = ScriptedTransport(selling: ["us": listing("2.0")])
    let answer = try await lookup(transport).lookUp(LookupQuery(key))
    #expect(answer.listings.first?.version == (try version("2.0")))
    let request = try #require(transport.requests.first)
    #expect(
      request.url.absoluteString
        == "https://store.example/base/lookup?id=364709193&country=us")
    #expect(request.timeout == .seconds(20))
    #expect(request.maximumSize == 16 << 20)
    #expect(request.headers["Cache-Control"] == nil)
  }

  @Test("Apple's server is the default")
  func defaultServer() async throws {
    let transport = ScriptedTransport(selling: [:])
    _ = try await AppLookup(transport: transport).search(SearchQuery("x"))
    #expect(
      transport.requests.first?.url.absoluteString
        == "https://itunes.apple.com/search?term=x&country=us&entity=software&media=software")
  }

  @Test("An answer is cached for its lifetime, an empty one for a shorter time")
  func cache() async throws {
    let transport = ScriptedTransport(selling: ["us": listing("2.0")])
    let lookup = try lookup(transport)
    for _ in 0..<3 { _ = try await lookup.lookUp(LookupQuery(key)) }
    #expect(transport.requests.count == 1)
    clock.advance(4 * hour - 1)
    _ = try await lookup.lookUp(LookupQuery(key))
    #expect(transport.requests.count == 1)
    clock.advance(1)
    _ = try await lookup.lookUp(LookupQuery(key))
    #expect(transport.requests.count == 2)

    let german = LookupQuery(key, country: "de")
    for _ in 0..<2 { #expect(try await lookup.lookUp(german).listings.isEmpty) }
    #expect(transport.requests.count == 3)
    clock.advance(300)
    _ = try await lookup.lookUp(german)
    #expect(transport.requests.count == 4)
  }

  @Test("A fresh lookup bypasses all caches, and its answer is cached")
  func fresh() async throws {
    let transport = ScriptedTransport { _, number in .listings([listing("\(number + 1).0")]) }
    let lookup = try lookup(transport)
    #expect(try await lookup.lookUp(LookupQuery(key)).listings[0].versionText == "1.0")
    for expected in ["2.0", "3.0"] {
      let answer = try await lookup.lookUp(LookupQuery(key), caching: .reloadIgnoringAllCaches)
      #expect(answer.listings[0].versionText == expected)
    }
    #expect(try await lookup.lookUp(LookupQuery(key)).listings[0].versionText == "3.0")
    let urls = transport.requests.map(\.url.absoluteString)
    #expect(Set(urls).count == 3, "each fresh lookup has a unique URL")
    #expect(transport.requests[1].headers["Cache-Control"] == "no-cache")
  }

  @Test("A reload sends a request that other caches may answer, and its answer is cached")
  func reload() async throws {
    let transport = ScriptedTransport { _, number in .listings([listing("\(number + 1).0")]) }
    let lookup = try lookup(transport)
    for expected in ["1.0", "2.0"] {
      let answer = try await lookup.lookUp(LookupQuery(key), caching: .reload)
      #expect(answer.listings[0].versionText == expected)
    }
    #expect(try await lookup.lookUp(LookupQuery(key)).listings[0].versionText == "2.0")
    #expect(Set(transport.requests.map(\.url)).count == 1)
    #expect(transport.requests[1].headers["Cache-Control"] == nil)
  }

  @Test("The cache size is limited")
  func boundedCache() async throws {
    let transport = ScriptedTransport { _, _ in .listings([listing("1.0")]) }
    let lookup = try lookup(transport) { $0.maximumCachedAnswers = 2 }
    for term in ["a", "b", "c"] {
      _ = try await lookup.search(SearchQuery(term))
      clock.advance(1)
    }
    _ = try await lookup.search(SearchQuery("c"))
    #expect(transport.requests.count == 3)
    _ = try await lookup.search(SearchQuery("a"))
    #expect(transport.requests.count == 4)
  }

  @Test("The twenty-first call within a minute waits")
  func limiter() async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    let lookup = try lookup(transport)
    for number in 0..<20 { _ = try await lookup.search(SearchQuery("\(number)")) }
    #expect(clock.slept == [])
    clock.advance(10)
    _ = try await lookup.search(SearchQuery("20"))
    #expect(clock.slept == [50])
    #expect(transport.requests.count == 21)
  }

  @Test("A call that would wait longer than its limit fails at once, without reserving a slot")
  func maximumWait() async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    let lookup = try lookup(transport) {
      $0.maximumCallsPerMinute = 1
      $0.maximumWait = .seconds(5)
    }
    _ = try await lookup.search(SearchQuery("a"))
    for _ in 0..<3 {
      #expect(await code { try await lookup.search(SearchQuery("b")) } == .lookupThrottled)
    }
    clock.advance(56)
    _ = try await lookup.search(SearchQuery("b"))
    #expect(clock.slept == [4])
    #expect(transport.requests.count == 2)
  }

  @Test(
    "A server that asks to wait is not called earlier",
    arguments: [
      (403, "30", 30.0), (429, "7", 7), (503, "Thu, 15 Jan 2026 12:00:45 GMT", 45),
      (403, nil, 60), (429, "soon", 60), (429, "-5", 60), (503, "0", 0),
    ] as [(Int, String?, Double)])
  func retryAfter(status: Int, header: String?, seconds: Double) async throws {
    let transport = ScriptedTransport { _, number in
      number == 0
        ? .json("", status: status, headers: header.map { ["Retry-After": $0] } ?? [:])
        : .listings([listing("1.0")])
    }
    let lookup = try lookup(transport)
    let error = await #expect(throws: ContentError.self) {
      try await lookup.lookUp(LookupQuery(key))
    }
    #expect(error?.code == .lookupThrottled)
    #expect(error?.isRetryable == true)
    #expect(error?.remedy.contains("\(Int(seconds)) seconds") == true)
    _ = try await lookup.lookUp(LookupQuery(key))
    #expect(clock.slept == (seconds > 0 ? [seconds] : []))
  }

  @Test("A wait longer than the limit fails without a call")
  func longRetryAfter() async throws {
    let transport = ScriptedTransport { _, _ in
      .json("", status: 429, headers: ["retry-after": "9999999"])
    }
    let lookup = try lookup(transport)
    for _ in 0..<3 {
      #expect(await code { try await lookup.lookUp(LookupQuery(key)) } == .lookupThrottled)
    }
    #expect(transport.requests.count == 1)
    clock.advance(86_400)
    _ = await code { try await lookup.lookUp(LookupQuery(key)) }
    #expect(transport.requests.count == 2, "a server's wait is limited to one day")
  }

  @Test("A version query respects Retry-After")
  func serverRetryAfter() async throws {
    let transport = ScriptedTransport { _, _ in
      .json("", status: 503, headers: ["Retry-After": "3600"])
    }
    let source = ServerUpdateSource(
      server: try link("https://app.example"), bundleID: "a.b", transport: transport)
    let app = try app("1.0")
    for _ in 0..<20 {
      #expect(await code { try await source.answer(for: app, account: nil) } == .lookupThrottled)
    }
    #expect(transport.requests.count == 1)
  }

  @Test("A version query bypasses a CDN only on request")
  func serverBehindCDN() async throws {
    let transport = ScriptedTransport { _, _ in .json(#"{"hasNewVersion":false}"#) }
    let source = ServerUpdateSource(
      server: try link("https://app.example"), bundleID: "a.b", transport: transport)
    for caching in [.reload, .reloadIgnoringAllCaches, .reloadIgnoringAllCaches]
      as [LookupCachePolicy]
    {
      _ = try await source.answer(for: app("1.0"), account: nil, caching: caching)
    }
    let marks = transport.requests.map { $0.parameters["fresh"] }
    #expect(marks[0] == nil)
    #expect(marks[1] != nil && marks[2] != nil && marks[1] != marks[2])
  }

  @Test("A waiting call is refused if the server asks to wait in the meantime")
  func blockedWhileWaiting() {
    var limiter = CallLimiter(callsPerMinute: 1, maximumWait: 100)
    #expect(limiter.reserve(at: noon) == .after(seconds: 0))
    #expect(limiter.reserve(at: noon) == .after(seconds: 60))
    limiter.block(forSeconds: 90, at: noon + 1)
    limiter.block(forSeconds: 5, at: noon + 2)
    #expect(limiter.recheck(at: noon + 60, since: noon) == .after(seconds: 31))
    #expect(limiter.recheck(at: noon + 91, since: noon) == .after(seconds: 0))
    limiter.block(forSeconds: 500, at: noon + 91)
    #expect(limiter.recheck(at: noon + 91, since: noon) == .refused(seconds: 500))
    #expect(limiter.reserve(at: noon + 91) == .refused(seconds: 500))
  }

  @Test("A call does not wait longer than its limit if the server asks to wait in the meantime")
  func totalWait() async throws {
    let transport = ScriptedTransport { _, number in
      number == 2 ? .json("", status: 429, headers: ["Retry-After": "30"]) : .listings([])
    }
    var configuration = AppLookup.Configuration(server: try link("https://store.example"))
    configuration.maximumCallsPerMinute = 2
    let plain = clock.clock
    let other = Mutex<AppLookup?>(nil)
    let lookup = AppLookup(
      configuration, transport: transport,
      clock: AppUpdateClock(
        now: plain.now,
        sleep: { seconds in
          try await plain.sleep(seconds)
          let first = other.withLock { lookup in
            defer { lookup = nil }
            return lookup
          }
          guard let first else { return }
          #expect(await code { try await first.search(SearchQuery("d")) } == .lookupThrottled)
        }))
    for term in ["a", "b"] { _ = try await lookup.search(SearchQuery(term)) }
    other.withLock { $0 = lookup }
    #expect(await code { try await lookup.search(SearchQuery("c")) } == .lookupThrottled)
    #expect(clock.slept == [60])
    #expect(transport.requests.count == 3)
  }

  @Test("A waiting call that is canceled leaves its slot to the next one")
  func canceledWait() async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    var configuration = AppLookup.Configuration(server: try link("https://store.example"))
    configuration.maximumCallsPerMinute = 1
    let lookup = AppLookup(
      configuration, transport: transport,
      clock: AppUpdateClock(now: { noon }, sleep: { _ in throw CancellationError() }))
    _ = try await lookup.search(SearchQuery("a"))
    for _ in 1...3 {
      await #expect(throws: CancellationError.self) {
        try await lookup.search(SearchQuery("b"))
      }
    }
    #expect(transport.requests.count == 1)
  }

  @Test("A clock that is set back does not delay calls for days")
  func clockSetBack() async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    let lookup = try lookup(transport) { $0.maximumCallsPerMinute = 1 }
    _ = try await lookup.search(SearchQuery("a"))
    clock.advance(-2 * day)
    _ = try await lookup.search(SearchQuery("b"))
    #expect(clock.slept == [])
  }

  @Test(
    "Other statuses are typed errors, and are not cached",
    arguments: [
      (400, ContentError.Code.queryInvalid), (404, .requestRefused), (301, .requestRefused),
      (500, .serverFailed), (502, .serverFailed), (204, .answerUnreadable),
      (200, .answerUnreadable),
    ])
  func statuses(status: Int, expected: ContentError.Code) async throws {
    let transport = ScriptedTransport { _, _ in .json("", status: status) }
    let lookup = try lookup(transport)
    for _ in 0..<2 {
      #expect(await code { try await lookup.lookUp(LookupQuery(key)) } == expected)
    }
    #expect(transport.requests.count == 2)
  }

  @Test("Errors of the transport are rethrown unchanged")
  func transportError() async throws {
    let transport = ScriptedTransport { _, _ in
      throw ContentError(.hostNotFound, "No address", remedy: "Wait")
    }
    let lookup = try lookup(transport)
    #expect(await code { try await lookup.lookUp(LookupQuery(key)) } == .hostNotFound)
  }
}
