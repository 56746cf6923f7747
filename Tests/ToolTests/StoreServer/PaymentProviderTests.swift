import HostedModel
import Foundation
import HostedStoreServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Purchases that the example of a payment provider decides about.
@Suite("The example of a payment provider", .waiting, .timeLimit(.hang))
struct PaymentProviderTests {
  private let tool: Tool
  private let provider: Provider

  /// The example as a process.
  private struct Provider {
    let process: ChildProcess
    let url: String

    init(_ tool: Tool, listen: String = "127.0.0.1:0") throws {
      let output = tool.folder.path("provider-\(UUID().uuidString)")
      let process = try tool.start(
        [
          SourceTree.path("Examples/PaymentProvider/provider.py"), "--secret-file",
          "webhook-secret", "--prices", "prices.json", "--limit", "1000", "--listen", listen,
        ], output: output, program: "/usr/bin/python3")
      func text() -> String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }
      process.wait { text().hasSuffix("\n") }
      self.process = process
      url = text().trimmingCharacters(in: .newlines)
    }
  }

  init() throws {
    tool = try Tool.withShop()
    try tool.write(String(repeating: "0123456789abcdef", count: 4), to: "webhook-secret")
    try tool.write("{\"\(Tool.chapter1)\": 500}", to: "prices.json")
    provider = try Provider(tool)
  }

  private func server(
    _ secret: String = "webhook-secret", at other: Provider? = nil
  ) throws -> SellingProcess {
    try SellingProcess(
      tool,
      [
        "--decide", "webhook", "--webhook-url", (other ?? provider).url, "--webhook-secret-file",
        secret,
      ])
  }

  private func buy(
    _ server: SellingProcess, _ transaction: String, quantity: Int = 1,
    product: String = Tool.chapter1, account: String = "alice"
  ) throws -> (status: Int, document: [String: Any]) {
    try tool.buy(
      server.url, transaction,
      "{\"productIdentifier\": \"\(product)\", \"account\": \"\(account)\", "
        + "\"quantity\": \(quantity)}")
  }

  @Test("It approves up to the limit, lets others wait, and declines without a price", .slow)
  func decides() throws {
    let server = try server()
    let small = try buy(server, "small", quantity: 2)
    #expect(small.status == 201 && small.document["state"] as? String == "purchased")
    let large = try buy(server, "large", quantity: 3, account: "bob")
    #expect(large.status == 201 && large.document["state"] as? String == "deferred")
    let unknown = try buy(server, "unknown", product: Tool.chapter2)
    #expect(unknown.document["state"] as? String == "failed")
    #expect(unknown.document["reason"] as? String == "The product has no price")
    try tool.succeed(["approve", "large"] + server.service())
    #expect(
      try tool.purchases("history", server, account: "alice")
        == ["small": "purchased", "unknown": "failed"])
    #expect(
      try tool.purchases("history", server, account: "bob") == ["large": "purchased"])
  }

  @Test("While a purchase waits, get ends with status 4; it delivers it after the approval", .slow)
  func later() throws {
    try tool.write("{\"\(Tool.chapter1)\": 2000}", to: "prices.json")
    // It reads the prices when it starts.
    let expensive = try Provider(tool)
    let server = try server(at: expensive)
    let words =
      ["get", Tool.chapter1, "--store", "store", "--library", "lib", "--account", "alice"]
      + server.service()
    let waiting = try tool.fail(words, status: 4, saying: ["waits for a decision", "[708]"])
    let named = try #require(waiting.errors.firstMatch(of: #/as transaction (\S+?)\. /#))
    let transaction = String(named.output.1)
    try tool.fail(words, status: 4, saying: [transaction])
    try tool.succeed(["approve", transaction] + server.service())
    try tool.succeed(words)
    #expect(try tool.purchases("history", server, account: "alice") == [transaction: "purchased"])
    try tool.succeed(["verify", "--library", "lib"])
  }

  @Test(
    "While it does not answer, purchases get 503, and the same transaction succeeds later", .slow)
  func unreachable() throws {
    let server = try server()
    provider.process.kill(SIGKILL)
    provider.process.waitUntilExit()
    #expect(try buy(server, "order").status == 503)
    #expect(try tool.call("\(server.url)v1/purchases/order").status == 404)
    let address = URL(string: provider.url)
    let port = try #require(address?.port)
    let restarted = try Provider(tool, listen: "127.0.0.1:\(port)")
    #expect(try buy(server, "order").status == 201)
    withExtendedLifetime(restarted) {}
    #expect(!server.log.contains("0123456789abcdef"))
  }

  @Test("A request with another secret is not decided")
  func wrongSecret() throws {
    try tool.write(String(repeating: "fedcba9876543210", count: 4), to: "other-secret")
    let server = try server("other-secret")
    #expect(try buy(server, "order").status == 503)
    #expect(server.log.contains("status 401"), "\(server.log)")
  }

  @Test("A request with a superscript as its time is refused")
  func superscript() throws {
    let script = """
      import http.client, sys
      connection = http.client.HTTPConnection(sys.argv[1])
      headers = {"webhook-id": "order", "webhook-timestamp": "\u{b2}", "webhook-signature": "v1,"}
      connection.request("POST", "/", "{}", headers)
      print(connection.getresponse().status)
      """
    let address = URL(string: provider.url)
    let port = try #require(address?.port)
    let result = try tool.run(
      ["-c", script, "127.0.0.1:\(port)"], program: "/usr/bin/python3")
    #expect(result.output == "401\n", "\(result.errors)")
  }

  @Test("The signature is that of the Standard Webhooks specification")
  func signature() throws {
    // From the specification's example of a symmetric signature.
    let secret = WebhookSecret.bytes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    let signature = try WebhookSignature.text(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: "1614265330",
      body: Array(#"{"test": 2432232314}"#.utf8), secret: secret)
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }
}
