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
    let answers = Watched<[Result<Decision, ContentError>]>([])
    decider.decide(PurchaseRequest(transaction: "t", account: "a", product: "book")) { answer in
      answers.change { $0.append(answer) }
    }
    await answers.wait { !$0.isEmpty }
    #expect(answers.value == [.success(.later)])
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
