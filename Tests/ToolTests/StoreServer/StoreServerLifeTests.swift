import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The process of a store server: its start, its end, its data folder, and what it prints.
@Suite("The process of a store server", .waiting, .timeLimit(.hang))
struct StoreServerLifeTests {
  @Test(
    "SIGTERM and SIGINT answer waiting requests, and end with status 0", .slow,
    arguments: [SIGTERM, SIGINT])
  func ends(signal: Int32) throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    try tool.write("Authorization: Bearer \(try tool.text("token"))", to: "auth")
    let poll = try tool.start(
      [
        "--silent", "--noproxy", "*", "--trace-ascii", "trace", "--header", "@auth",
        "--write-out", "%{http_code}", "\(server.url)v1/events?wait=30",
      ], output: tool.folder.path("poll"), program: "/usr/bin/curl")
    // The whole request was sent.
    poll.wait { (try? tool.text("trace").contains("=> Send header")) == true }
    // The answer to a later request says that the server has read it.
    #expect(try tool.call("\(server.url)healthz", token: nil).status == 200)
    server.process.kill(signal)
    #expect(server.process.waitUntilExit().status == 0)
    #expect(server.process.terminationReason == .exit)
    #expect(poll.waitUntilExit().status == 0)
    // 503 if the signal came before the request was processed.
    #expect(["200", "503"].contains(String(try tool.text("poll").suffix(3))))
    #expect(server.log == server.url + "\n")
  }

  @Test("A second server on the same data folder is refused, and can start after the first")
  func secondServer() throws {
    let tool = try Tool.withBook()
    let server = try SellingProcess(tool)
    let words = ["store-server", "run", "store", "--data", "data", "--listen", "127.0.0.1:0"]
    try tool.fail(words, saying: ["Another store server", "[202]"])
    #expect(server.stop() == 0)
    let next = try SellingProcess(tool)
    #expect(try tool.call("\(next.url)readyz", token: nil).status == 200)
  }

  @Test("A server killed at any time starts again with all purchases")
  func killed() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    let body = "{\"productIdentifier\": \"\(Tool.chapter1)\"}"
    #expect(try tool.buy(server.url, "order", body).status == 201)
    server.process.kill(SIGKILL)
    server.process.waitUntilExit()
    let next = try SellingProcess(tool)
    let again = try tool.buy(next.url, "order", body)
    #expect(again.status == 200 && again.document["state"] as? String == "purchased")
  }

  @Test("With --json, the URL is a document; systemd can pass the socket")
  func socket() throws {
    let tool = try Tool.withBook()
    let process = try SellingProcess.startedBySystemd(
      [Tool.path, "store-server", "run", "store", "--data", "data", "--json"], tool)
    let text = try tool.text("out")
    let document = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let errors = try tool.text("err")
    let url = try #require(document?["url"] as? String, "\(text)\(errors)")
    #expect(!url.hasSuffix(":8090/"))
    #expect(try tool.call("\(url)readyz", token: nil).status == 200)
    process.kill(SIGTERM)
    #expect(process.waitUntilExit().status == 0)
  }

  @Test("Tokens and secrets are in no file and in no output")
  func secrets() throws {
    let tool = try Tool.withShop()
    try tool.write(String(repeating: "gatesecret", count: 4), to: "gate")
    let server = try SellingProcess(
      tool,
      [
        "--gate", "auth-request", "--content-url", "http://127.0.0.1:1/", "--gate-secret-file",
        "gate",
      ])
    let token = try tool.text("token")
    let body = "{\"productIdentifier\": \"\(Tool.chapter1)\", \"account\": \"alice\"}"
    #expect(try tool.buy(server.url, "order", body).status == 201)
    let content = "{\"contentIdentifier\": \"\(Tool.chapter1)\", \"version\": \"1.0\"}"
    let grants = try tool.call(
      "\(server.url)v1/content-grants",
      [
        "--header", "Content-Type: application/json", "--data",
        "{\"transaction\": \"order\", \"contents\": [\(content)]}",
      ])
    let files = try #require(grants.document["files"] as? [[String: Any]])
    let urls = files.flatMap { $0["urls"] as? [String] ?? [] }
    #expect(urls.count == 2)
    // A wrong token is not repeated in an error.
    try tool.write("\(token)x", to: "wrong")
    let refused = try tool.fail(["history"] + server.service("wrong"), saying: ["[206]"])
    #expect(server.stop() == 0)
    let grant = try #require(urls.first?.split(separator: "=").last.map(String.init))
    for secret in [token, "gatesecret", grant] {
      #expect(!server.log.contains(secret) && !refused.errors.contains(secret))
      for (name, bytes) in try tool.tree("data") {
        #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name)")
      }
    }
  }

  static let run = ["store-server", "run", "store", "--data", "data"]
  static let service = ["--service", "http://127.0.0.1:1/", "--service-token-file", "token"]

  @Test(
    "Wrong options are usage errors", .slow,
    arguments: [
      run + ["--listen", "8090"], run + ["--gate", "maybe"], run + ["--decide", "never"],
      run + ["--gate", "auth-request"],
      run + ["--gate", "auth-request", "--content-url", "http://a/"],
      run + [
        "--gate", "auth-request", "--content-url", "http://a/", "--gate-secret-file", "short",
      ],
      run + ["--content-url", "http://a/"], run + ["--gate-secret-file", "token"],
      run + ["--decide", "webhook"], run + ["--decide", "webhook", "--webhook-url", "http://a/"],
      run + ["--webhook-url", "http://a/"], run + ["--origin", "store.example.com"],
      run + ["--database", "mysql://a/b"], ["store-server", "run", "store"],
      ["store-server"], ["store-server", "key"], ["store-server", "key", "list"],
      ["store-server", "key", "make", "--data", "data"],
      ["store-server", "key", "add", "--data", "data"],
      ["store-server", "key", "add", "--data", "data", "--scopes", "all"],
      ["store-server", "key", "add", "key-1", "--data", "data", "--scopes", "read"],
      ["store-server", "key", "revoke", "--data", "data"],
      ["store-server", "key", "list", "--data", "data", "--scopes", "read"],
      ["store-server", "voucher", "make", "--data", "data"],
      ["store-server", "voucher", "add", "--data", "data", "--count", "0"],
      ["store-server", "import", "--data", "data"],
      ["get", "a", "--store", "store", "--library", "lib", "--service", "http://127.0.0.1:1/"],
      ["get", "a", "--store", "store", "--library", "lib", "--service-token-file", "token"],
      ["get", "a", "--store", "store", "--library", "lib", "--ledger", "g"] + service,
      ["purchase", "a b"] + service, ["purchase", "a", "--service", "http://127.0.0.1:1/"],
      ["entitlements", "alice"] + service, ["account", "erase", "-"] + service,
      ["approve", "order", "--reason", "Because"] + service,
    ])
  func usage(words: [String]) throws {
    let tool = try Tool()
    try tool.write("secret", to: "token")
    try tool.write("short", to: "short")
    try tool.fail(words, status: 2)
    #expect(Set(try tool.tree().keys) == ["token", "short"], "wrong usage creates nothing")
  }

  @Test("URLs live from two seconds to seven days", arguments: ["1", "604801", "\(Int.max)"])
  func lifetime(seconds: String) throws {
    let gate = ["--gate", "auth-request", "--content-url", "https://a.example/"]
    let tool = try Tool()
    try tool.fail(
      Self.run + gate + ["--url-lifetime", seconds], status: 2,
      saying: ["--url-lifetime takes a number of at"])
  }

  @Test("A content URL whose requests the server would refuse is wrong usage")
  func escapedContentURL() throws {
    let gate = ["--gate", "auth-request", "--content-url", "https://a.example/my%20store/"]
    try Tool().fail(Self.run + gate, status: 2, saying: ["not “https://a.example/my%20store”"])
  }

  @Test("A token can come from a pipe")
  func pipe() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    let result = try tool.run(
      [
        "-c",
        "\"$0\" history --json --service \"$1\" --service-token-file <(cat token)", Tool.path,
        server.url,
      ], program: "/bin/bash")
    #expect(result.status == 0, "\(result.errors)")
  }
}
