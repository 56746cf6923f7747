import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs the blocks of Documentation/StoreServer.md and Documentation/StoreServerData.md.
@Suite("The guides to the store server", .waiting, .timeLimit(.hang))
struct StoreServerGuideTests {
  private let tool: Tool
  private let guide: DocumentPage
  private let dataGuide: DocumentPage

  private static let address = "http://127.0.0.1:8090"

  /// Follows the first block, except for its last command, which runs the server.
  init() throws {
    tool = try Tool()
    guide = try DocumentPage("Documentation/StoreServer.md")
    dataGuide = try DocumentPage("Documentation/StoreServerData.md")
    let package = try tool.makePackage(
      "com.example.chapter1", "1.0", ["page-1.txt": Data("Once upon a time\n".utf8)])
    try FileManager.default.moveItem(
      atPath: tool.folder.path(package), toPath: tool.folder.path("chapter1.pkg"))
    let (commands, _) = try guide.serverBlock("store init")
    try follow(commands)
  }

  @discardableResult
  private func follow(_ script: String, _ server: SellingProcess? = nil) throws -> String {
    let url = server.map { String($0.url.dropLast()) } ?? Self.address
    let result = try tool.follow(script.replacing(Self.address, with: url))
    #expect(result.status == 0, "\(script): \(result.output)\(result.errors)")
    return result.output
  }

  /// Runs the server of a block, on a free port.
  private func server(_ text: String, in page: DocumentPage? = nil) throws -> SellingProcess {
    let (commands, options) = try (page ?? guide).serverBlock(text)
    if text != "store init" { try follow(commands) }
    return try SellingProcess(tool, options)
  }

  @Test("A test runs each block")
  func complete() throws {
    let source = try [#filePath, GatedStore.source]
      .map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
    for page in [guide, dataGuide] {
      for block in page.blocks {
        let names = source.matches(of: /(?:[bB]lock|server)\("([^"]+)"/).map { String($0.output.1) }
        let isRun =
          block.language == "sh"
          ? names.contains { block.text.contains($0) } : source.contains("\"\(block.language)\"")
        #expect(isRun, "\(page.path) line \(block.line)")
      }
    }
  }

  @Test("A buyer installs a package, and each call works with curl and as a command", .slow)
  func calls() throws {
    let server = try server("store init")
    try follow(guide.block("hostedcontent get "), server)
    #expect(try tool.current("library") == ["com.example.chapter1": "1.0"])
    let output = try follow(guide.block("content-grants"), server)
    for text in [
      #""state":"purchased""#, #""state":"refunded""#, #""results":["#, #""files":["#,
      #""events":["#, #""hasMore":false"#, #""openapi": "3.1"#,
    ] {
      #expect(output.contains(text), "\(text): \(output)")
    }
    let commands = try follow(guide.block("hostedcontent refund "), server)
    #expect(commands.contains("com.example.chapter1: refunded\n"), "\(commands)")
    #expect(commands.contains("carol: erased"))
    let list = try tool.follow(guide.block("key rotate"))
    #expect(list.status == 0 && list.output.contains("public-key"), "\(list.errors)")
    #expect(try tool.text("token2").hasPrefix("hct_"))
  }

  @Test("The webhook of the guide is asked for a decision")
  func webhook() throws {
    let server = try server("--decide webhook")
    #expect(try tool.text("vouchers").split(separator: "\n").count == 10)
    // Nothing listens at its address, unless another test does.
    let answer = try tool.buy(
      server.url, "order", #"{"productIdentifier": "com.example.chapter1"}"#)
    #expect([201, 503].contains(answer.status))
  }

  @Test("A backup is restored into the data folder", .slow)
  func backup() throws {
    let body = #"{"productIdentifier": "com.example.chapter1"}"#
    let server = try server("store init")
    #expect(try tool.buy(server.url, "order", body).status == 201)
    try follow(dataGuide.block("store-server backup"))
    #expect(server.stop() == 0)
    try follow(dataGuide.block("mv backup.sqlite"))
    let restored = try SellingProcess(tool)
    #expect(try tool.buy(restored.url, "order", body).status == 200)
  }

  @Test(
    "The ledger can be in PostgreSQL", .slow,
    .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.reason)))
  func postgres() throws {
    let database = try PostgresServer.shared().database()
    let (_, options) = try dataGuide.serverBlock("--database postgresql")
    let server = try SellingProcess(
      tool, options.map { $0.replacing("postgresql:///store", with: database.url) })
    try tool.addKey(ledger: ["--database", database.url])
    let body = #"{"productIdentifier": "com.example.chapter1", "account": "alice"}"#
    let answer = try tool.buy(server.url, "order", body)
    #expect(answer.status == 201 && answer.document["receipt"] is String)
    #expect(try tool.purchases("history", server, account: "alice") == ["order": "purchased"])
    #expect(server.stop() == 0)
  }

  // MARK: nginx

  @Test(
    "Behind nginx, only buyers get packages", .slow,
    .enabled(if: Nginx.isInstalled, "\(Nginx.reason)"),
    arguments: GatedStore.Gate.allCases)
  func gates(gate: GatedStore.Gate) throws {
    try tool.succeed("store", "publish", "store", Tool.sample("chapter2-1.0.pkg"))
    let store = try GatedStore(tool, gate)
    try tool.succeed(store.buying("com.example.chapter1", account: "alice"))
    #expect(try tool.current("alice") == ["com.example.chapter1": "1.0"])
    // Without a purchase at the server, the built-in store service's buyers get nothing.
    try tool.fail(
      ["get", Tool.chapter2, "--quiet"] + store.reading("library"), saying: ["[206]"])
    try attack(store)
    let logs = try ["nginx-store.log", "nginx-store.error.log"].map { try tool.text($0) }.joined()
    #expect(logs.contains("/targets/") && !logs.contains("grant=") && !logs.contains("md5="))
    #expect(store.server.stop() == 0)
  }

  /// Requests with URLs that were not given for them get nothing; `GateAttackTests` has more.
  private func attack(_ store: GatedStore) throws {
    let target = try #require(try store.grant("com.example.chapter1", to: "alice").first)
    let parts = target.split(separator: "?").map(String.init)
    let others = try GatedStore.gatedPaths(tool).filter { $0.contains(Tool.chapter2) }
    let other = try #require(others.first { $0.hasSuffix(".pkg") })
    #expect(try store.request(target).status == 200)
    #expect(try store.request(target, ["--range", "0-9"]).status == 206)
    let bearer = try ["--header", "Authorization: Bearer \(tool.text("token"))"]
    for target in [
      parts[0], "\(target)x", "\(other)?\(parts[1])", other,
      "/targets/com.example.chapter1/%2e%2e\(other.dropFirst("/targets".count))?\(parts[1])",
      "/\(other)?\(parts[1])", "/internal/authorize",
    ] {
      let found = try store.request(target, bearer).status
      #expect([401, 403, 404].contains(found), "\(target): \(found)")
    }
    // Clients read the records before they buy.
    let records = try tool.tree("store/targets").keys.filter { $0.hasSuffix("product.json") }
    for record in records { #expect(try store.request("/targets/\(record)").status == 200) }
  }

  // MARK: systemd

  /// The text of a unit, with the path of the built tool.
  private func unit(_ language: String) throws -> String {
    try #require(dataGuide.blocks(in: language).first).text
      .replacing("/usr/local/bin/hostedcontent", with: Tool.path)
  }

  @Test("A service that systemd starts takes its socket")
  func socket() throws {
    #expect(try unit("ini socket").contains("ListenStream=127.0.0.1:8090\n"))
    let service = try unit("ini service")
    let line = try #require(service.firstMatch(of: /ExecStart=(.*)\n/)?.output.1)
    let words = line.replacing("/srv/store", with: tool.folder.path("store"))
      .replacing("/var/lib/store-server", with: tool.folder.path("data"))
      .split(separator: " ").map(String.init)
    let process = try SellingProcess.startedBySystemd(words, tool)
    let url = try tool.text("out").trimmingCharacters(in: .newlines)
    let errors = try tool.text("err")
    #expect(try tool.call("\(url)readyz", token: nil).status == 200, "\(errors)")
    process.kill(SIGTERM)
    #expect(process.waitUntilExit().status == 0)
  }

  @Test(
    "systemd accepts the units", .enabled(if: UnitFiles.canBeChecked, "\(UnitFiles.reason)"))
  func units() throws {
    try UnitFiles.check(
      ["store-server.socket": unit("ini socket"), "store-server.service": unit("ini service")],
      tool)
  }
}
