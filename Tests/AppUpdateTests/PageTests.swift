import ContentModel
import Dispatch
import FoundationEssentials
import Concurrency
import Testing

@testable import AppUpdate

@Suite("Product page")
struct PageTests {
  private func page(_ transport: ScriptedTransport, on queue: DispatchQueue? = nil) -> ProductPage {
    ProductPage(
      lookup: AppLookup(.init(), transport: transport, clock: TestClock().clock),
      deliveringOn: queue)
  }

  private let selling = ScriptedTransport(selling: ["us": listing("2.0")])

  @Test("An item's page has its data, and a URL with the tokens")
  func load() async throws {
    let page = page(selling)
    var parameters = ProductPageParameters(itemIdentifier: 364_709_193)
    parameters.affiliateToken = "11l&x"
    parameters.campaignToken = "spring"
    parameters.providerToken = "123"
    parameters.advertisingPartnerToken = "partner"
    parameters.customProductPageIdentifier = "45812c9b-c296-43d3-c6a0-c5a02f74bf6e"
    parameters.productIdentifier = "com.example.courier.pro"
    let content = try await page.load(parameters)
    #expect(content.listing == listing("2.0"))
    #expect(
      content.url.absoluteString
        == "https://apps.example.com/us/app/courier/id364709193?uo=4&at=11l%26x&ct=spring&pt=123"
        + "&advp=partner&ppid=45812c9b-c296-43d3-c6a0-c5a02f74bf6e&product=com.example.courier.pro")
    #expect(page.content == content)
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

  @Test("Unknown items are error 5", arguments: [1, 5, 9_223_372_036_854_775_807] as [AppleID])
  func unknown(item: AppleID) async throws {
    let page = page(selling)
    _ = try await page.load(ProductPageParameters(itemIdentifier: 364_709_193))
    let error = await #expect(throws: ProductPageError.self) {
      try await page.load(ProductPageParameters(itemIdentifier: item))
    }
    #expect(error?.code == 5)
    #expect(error?.errorDescription == "Cannot connect to the store")
    #expect(error?.cause.code == .appNotOffered)
    #expect(page.content == nil)
  }

  @Test("An unreachable store is error 5, with the cause")
  func unreachable() async throws {
    let page = page(
      ScriptedTransport { _, _ in
        throw ContentError(.hostNotFound, "No address", remedy: "Wait")
      })
    let error = await #expect(throws: ProductPageError.self) {
      try await page.load(ProductPageParameters(itemIdentifier: 1))
    }
    #expect(error?.cause.code == .hostNotFound)
  }

  @Test("Tokens with an invalid length are refused before anything is sent")
  func longTokens() async throws {
    let transport = ScriptedTransport(selling: [:])
    for token in ["", String(repeating: "x", count: 41)] {
      var parameters = ProductPageParameters(itemIdentifier: 1)
      parameters.campaignToken = token
      let error = await #expect(throws: ProductPageError.self) {
        try await page(transport).load(parameters)
      }
      #expect(error?.cause.code == .queryInvalid)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test("The storefront can be another one")
  func country() async throws {
    let page = page(ScriptedTransport(selling: ["cn": listing("2.0")]))
    var parameters = ProductPageParameters(itemIdentifier: 364_709_193)
    #expect(await code5 { try await page.load(parameters) })
    parameters.country = "cn"
    _ = try await page.load(parameters)
  }

  private func code5(_ body: () async throws -> some Any) async -> Bool {
    do {
      _ = try await body()
      return false
    } catch { return (error as? ProductPageError)?.code == 5 }
  }

  final class Delegate: ProductPageDelegate {
    let finishes = Mutex(0)
    let key: DispatchSpecificKey<Bool>

    init(_ key: DispatchSpecificKey<Bool>) { self.key = key }

    func productPageDidFinish(_ page: ProductPage) {
      #expect(DispatchQueue.getSpecific(key: key) == true)
      finishes.withLock { $0 += 1 }
    }
  }

  @Test("The completion is called once on the queue, and the delegate once per dismissal")
  func completion() async throws {
    let queue = DispatchQueue(label: "test")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let page = page(selling, on: queue)
    let delegate = Delegate(key)
    page.delegate = delegate
    for (item, isFound) in [(AppleID(364_709_193), true), (1, false)] {
      let result = await withCheckedContinuation { continuation in
        page.load(ProductPageParameters(itemIdentifier: item)) { result in
          #expect(DispatchQueue.getSpecific(key: key) == true)
          continuation.resume(returning: result)
        }
      }
      if case .success = result { #expect(isFound) } else { #expect(!isFound) }
    }
    _ = try await page.load(ProductPageParameters(itemIdentifier: 364_709_193))
    page.finish()
    page.finish()
    for _ in 0..<2 { await withCheckedContinuation { done in queue.async { done.resume() } } }
    #expect(delegate.finishes.withLock { $0 } == 1)
  }
}
