import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// `store receipt-key`, and clients that verify receipts with the listed keys.
@Suite("The command store receipt-key", .waiting, .timeLimit(.hang))
struct StoreReceiptKeyTests {
  private func list(_ tool: Tool, _ words: String...) throws -> String {
    try tool.succeed(["store", "receipt-key", "store"] + words).output
  }

  @Test("Clients of a store server accept its receipts only if its key is listed", .slow)
  func receipts() async throws {
    let tool = try Tool.withShop()
    let own = "data/receipt-key.pub.pem"
    #expect(try list(tool) == "The store lists no receipt keys.\n")
    #expect(try list(tool, own) == "1 receipt key listed\n")
    #expect(try list(tool) == tool.text(own))
    var server = try SellingProcess(tool)
    let get = ["get", Tool.chapter1, "--store", "store", "--account", "alice"]
    try tool.succeed(get + ["--library", "lib"] + server.service())
    #expect(server.log == server.url + "\n")
    server.stop()

    try tool.write(ReceiptSigningKey.generate().verificationKey.pem, to: "other.pem")
    #expect(try list(tool, "other.pem", "--replace") == "1 receipt key listed\n")
    server = try SellingProcess(tool)
    #expect(server.log.contains("The store does not list the public key"), "\(server.log)")
    // It does not sell what queues would refuse.
    let buy = ["purchase", Tool.chapter2, "--account", "bob", "--busy-timeout", "1"]
    try tool.fail(buy + server.service(), saying: ["status 503"])
    #expect(try tool.purchases("history", server, account: "bob").isEmpty)
    #expect(try list(tool, own) == "2 receipt keys listed\n")
    try await waitUntil { try tool.run(buy + server.service()).status == 0 }
    try tool.succeed(get + ["--library", "third"] + server.service())
  }

  @Test("A file that is not a public key is refused")
  func wrong() throws {
    let tool = try Tool.withShop()
    for words in [["data/receipt-key.pem"], ["--replace"]] {
      try tool.fail(["store", "receipt-key", "store"] + words, status: 2)
    }
    let words = ["store", "receipt-key", "store", "data/receipt-key.pub.pem"]
    try tool.fail(
      words + ["data/receipt-key.pem"], status: 2, saying: ["Key 2 is not a public key"])
    #expect(try list(tool) == "The store lists no receipt keys.\n")
  }
}
