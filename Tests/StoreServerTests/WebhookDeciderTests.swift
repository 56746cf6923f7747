import HostedModel
import FoundationEssentials
import HostedContent
import HostedStoreAPI
import HostedStoreServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Decisions of a webhook", .waiting, .timeLimit(.hang))
struct WebhookDeciderTests {
  @Test func `an answer may have other members, with any number`() async throws {
    let body = Array(#"{"decision":"later","risk":0.25,"limit":1e30}"#.utf8)
    let webhook = try ScriptedServer { _ in .http("200 OK", body: body) }
    let decider = try WebhookDecider(url: webhook.url(), secret: Array("secret".utf8))
    defer { decider.close() }
    let request = PurchaseRequest(transaction: "t", account: "a", productIdentifier: "book")
    #expect(try await decider.decide(request) == .later)
  }

  @Test func `an approval names the price and the provider's number`() async throws {
    let answers = [
      #"{"decision":"approve","price":"2.99","currency":"EUR","reference":"ch_1"}"#,
      #"{"decision":"approve"}"#, #"{"decision":"approve","price":"cheap","currency":"EUR"}"#,
    ]
    let texts = Watched(answers)
    let webhook = try ScriptedServer { _ in
      .http("200 OK", body: Array(texts.change { $0.removeFirst() }.utf8))
    }
    let decider = try WebhookDecider(url: webhook.url(), secret: Array("secret".utf8))
    defer { decider.close() }
    let request = PurchaseRequest(transaction: "t", account: "a", productIdentifier: "book")
    let terms = PurchaseTerms(price: Price(2.99, currency: "EUR"), reference: "ch_1")
    #expect(try await decider.decide(request) == .approve(terms))
    #expect(try await decider.decide(request) == .approve())
    let error = await #expect(throws: ContentError.self) { try await decider.decide(request) }
    #expect(error?.code == .serviceFailed)
  }

  @Test func `plain HTTP to another machine is refused, unless it is allowed`() throws {
    let url = "http://webhook.example/decide"
    let error = #expect(throws: ContentError.self) { try WebhookDecider(url: url, secret: [1]) }
    #expect(error?.code == .insecureConnectionRefused)
    var network = NetworkSettings()
    network.plainHTTPOrigins = [try #require(URL(string: url))]
    try WebhookDecider(url: url, secret: [1], network: network).close()
  }
}
