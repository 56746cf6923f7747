import HostedModel
import FoundationEssentials
import Testing

@testable import AppUpdate

@Suite("Why an app is not found")
struct FindingTests {
  let clock = TestClock()
  let key: LookupQuery.Key = .bundleIDs(["com.example.Courier"])

  private func find(
    _ transport: ScriptedTransport, candidates: [CountryCode]
  ) async throws -> AppFinding {
    let lookup = AppLookup(.init(), transport: transport, clock: clock.clock)
    return try await lookup.find(key, candidates: candidates)
  }

  @Test("The requested storefront offers it")
  func offered() async throws {
    let transport = ScriptedTransport(selling: ["us": listing("1.0")])
    #expect(try await find(transport, candidates: ["cn"]) == .offered(listing("1.0")))
    #expect(transport.requests.count == 1)
  }

  @Test("Caches do not have it yet")
  func lagging() async throws {
    let transport = ScriptedTransport { request, _ in
      .listings(request.parameters["fresh"] == nil ? [] : [listing("1.0")])
    }
    #expect(try await find(transport, candidates: ["cn"]) == .lagging(listing("1.0")))
    #expect(transport.requests.count == 2)
  }

  @Test("It is only sold in another country, which is returned")
  func elsewhere() async throws {
    let transport = ScriptedTransport(selling: ["cn": listing("1.0")])
    let finding = try await find(transport, candidates: ["us", "de", "cn", "fr"])
    #expect(finding == .elsewhere(listing("1.0"), in: "cn"))
    #expect(transport.requests.map { $0.parameters["country"] } == ["us", "us", "de", "cn"])
  }

  @Test("No storefront has it")
  func unknown() async throws {
    let transport = ScriptedTransport(selling: [:])
    let finding = try await find(transport, candidates: ["de", "cn", "de"])
    #expect(finding == .unknown(tried: ["us", "de", "cn"]))
    #expect(finding.listing == nil)
    #expect(transport.requests.count == 4)
  }

  @Test("Every call has the kind of app")
  func entity() async throws {
    let transport = ScriptedTransport(selling: ["cn": listing("1.0")])
    let source = StoreUpdateSource(
      AppLookup(.init(), transport: transport, clock: clock.clock), key: key,
      candidates: ["cn"], entity: "macSoftware")
    let offer = try await source.newestOffer(for: app("1.0"), account: nil, caching: .useCache)
    #expect(offer?.version == (try version("1.0")))
    #expect(
      transport.requests.map { $0.parameters["entity"] }
        == [String](repeating: "macSoftware", count: 3))
  }

  @Test("Another app in the answer is ignored")
  func otherApp() async throws {
    let other = listing("9.0", ["bundleId": .string("com.example.other")])
    let transport = ScriptedTransport(selling: ["us": other])
    let finding = try await find(transport, candidates: [])
    #expect(finding == .unknown(tried: [.us]))
  }
}
