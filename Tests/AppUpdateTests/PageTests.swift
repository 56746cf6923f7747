import HostedModel
import FoundationEssentials
import Testing

@testable import AppUpdate

@Suite("Product page")
struct PageTests {
  private func lookup(_ transport: ScriptedTransport) -> AppLookup {
    AppLookup(.init(), transport: transport, clock: TestClock().clock)
  }

  private let selling = ScriptedTransport(selling: ["us": listing("2.0")])

  @Test("An item's page has its data, and a URL with the tokens")
  func load() async throws {
    var parameters = ProductPageParameters(itemIdentifier: 364_709_193)
    parameters.affiliateToken = "11l&x"
    parameters.campaignToken = "spring"
    parameters.providerToken = "123"
    parameters.advertisingPartnerToken = "partner"
    parameters.customProductPageIdentifier = "45812c9b-c296-43d3-c6a0-c5a02f74bf6e"
    parameters.productIdentifier = "com.example.courier.pro"
    let page = try await lookup(selling).productPage(for: parameters)
    #expect(page.listing == listing("2.0"))
    #expect(
      page.url.absoluteString
        == "https://apps.example.com/us/app/courier/id364709193?uo=4&at=11l%26x&ct=spring&pt=123"
        + "&advp=partner&ppid=45812c9b-c296-43d3-c6a0-c5a02f74bf6e&product=com.example.courier.pro")
    #expect(page.parameters == parameters)
  }

  @Test("Tokens replace those in the store's URL")
  func oldTokens() throws {
    var parameters = ProductPageParameters(itemIdentifier: 5)
    parameters.affiliateToken = "new"
    let old = listing("1", ["trackViewUrl": .string("https://x.example/id5?at=old&uo=4#top")])
    #expect(parameters.pageURL(of: old)?.absoluteString == "https://x.example/id5?uo=4&at=new")
    let bare = AppListing(fields: [:])
    #expect(parameters.pageURL(of: bare)?.absoluteString == "https://apps.apple.com/app/id5?at=new")
  }

  @Test("Unknown items are not offered", arguments: [1, 5, 9_223_372_036_854_775_807] as [AppleID])
  func unknown(item: AppleID) async throws {
    let error = await #expect(throws: ContentError.self) {
      try await lookup(selling).productPage(for: ProductPageParameters(itemIdentifier: item))
    }
    #expect(error?.code == .appNotOffered)
  }

  @Test("An unreachable store is the error of the transport")
  func unreachable() async throws {
    let transport = ScriptedTransport { _, _ in
      throw ContentError(.hostNotFound, "No address", remedy: "Wait")
    }
    let error = await #expect(throws: ContentError.self) {
      try await lookup(transport).productPage(for: ProductPageParameters(itemIdentifier: 1))
    }
    #expect(error?.code == .hostNotFound)
  }

  @Test("Tokens with an invalid length are refused before anything is sent")
  func longTokens() async throws {
    let transport = ScriptedTransport(selling: [:])
    for token in ["", String(repeating: "x", count: 41)] {
      var parameters = ProductPageParameters(itemIdentifier: 1)
      parameters.campaignToken = token
      let error = await #expect(throws: ContentError.self) {
        try await lookup(transport).productPage(for: parameters)
      }
      #expect(error?.code == .queryInvalid)
    }
    var parameters = ProductPageParameters(itemIdentifier: 1)
    parameters.affiliateToken = String(repeating: "x", count: 256)
    await #expect(throws: ContentError.self) {
      try await lookup(transport).productPage(for: parameters)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test("The storefront can be another one")
  func country() async throws {
    let lookup = lookup(ScriptedTransport(selling: ["cn": listing("2.0")]))
    var parameters = ProductPageParameters(itemIdentifier: 364_709_193)
    let error = await #expect(throws: ContentError.self) {
      try await lookup.productPage(for: parameters)
    }
    #expect(error?.code == .appNotOffered)
    parameters.country = "cn"
    _ = try await lookup.productPage(for: parameters)
  }
}
