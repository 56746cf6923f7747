import Foundation
import TestSupport
import TestTraits
import Testing

/// Runs the blocks of Documentation/StoreServer.md and Documentation/StoreServerData.md.
@Suite("The guides to the store server", .waiting, .timeLimit(.minutes(10)))
struct StoreServerGuideTests {
  private let tool: Tool
  private let guide: DocumentPage
  private let dataGuide: DocumentPage

  private static let address = "http://127.0.0.1:8090"
  private static let run = "hostedcontent store-server run "

  /// Follows the first block, except for its last command, which runs the server.
  init() throws {
    tool = try Tool()
    guide = try DocumentPage("Documentation/StoreServer.md")
    dataGuide = try DocumentPage("Documentation/StoreServerData.md")
    let package = try tool.makePackage(
      "com.example.chapter1", "1.0", ["page-1.txt": Data("Once upon a time\n".utf8)])
    try FileManager.default.moveItem(
      atPath: tool.folder.path(package), toPath: tool.folder.path("chapter1.pkg"))
    let (commands, _) = try split(block("store init", in: guide))
    try follow(commands)
  }

  /// The text of the only block of a page that contains `text`.
  private func block(_ text: String, in page: DocumentPage, _ language: String = "sh") throws
    -> String
  {
    let found = page.blocks(in: language).filter { $0.text.contains(text) }
    try #require(found.count == 1, "\(text)")
    return found[0].text
  }

  /// The commands before the one that runs the server, and the options of that one.
  private func split(_ block: String) throws -> (commands: String, options: [String]) {
    let start = try #require(block.range(of: Self.run))
    let words = block[start.upperBound...].replacing("\\\n", with: " ")
      .split(whereSeparator: \.isWhitespace).map(String.init)
    try #require(words.prefix(3) == ["store", "--data", "data"])
    return (String(block[..<start.lowerBound]), Array(words.dropFirst(3)))
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
    let (commands, options) = try split(block(text, in: page ?? guide))
    if text != "store init" { try follow(commands) }
    return try SellingProcess(tool, options)
  }

  @Test("A test runs each block")
  func complete() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    for page in [guide, dataGuide] {
      for block in page.blocks {
        let names = source.matches(of: /(?:block|server)\("([^"]+)"/).map { String($0.output.1) }
        let isRun =
          block.language == "sh"
          ? names.contains { block.text.contains($0) } : source.contains("\"\(block.language)\"")
        #expect(isRun, "\(page.path) line \(block.line)")
      }
    }
  }

  @Test("A buyer installs a package, and each call works with curl and as a command")
  func calls() throws {
    let server = try server("store init")
    try follow(block("hostedcontent get ", in: guide), server)
    #expect(try tool.current("library") == ["com.example.chapter1": "1.0"])
    let output = try follow(block("content-grants", in: guide), server)
    for text in [
      #""state":"purchased""#, #""state":"refunded""#, #""results":["#, #""files":["#,
      #""events":["#, #""hasMore":false"#, #""openapi":"3.1"#,
    ] {
      #expect(output.contains(text), "\(text): \(output)")
    }
    let commands = try follow(block("hostedcontent refund ", in: guide), server)
    #expect(commands.contains("com.example.chapter1: refunded\n"), "\(commands)")
    #expect(commands.contains("carol: erased"))
    let list = try tool.follow(block("key rotate", in: guide))
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

  @Test("A backup is restored into the data folder")
  func backup() throws {
    let body = #"{"productIdentifier": "com.example.chapter1"}"#
    let server = try server("store init")
    #expect(try tool.buy(server.url, "order", body).status == 201)
    try follow(block("store-server backup", in: dataGuide))
    #expect(server.stop() == 0)
    try follow(block("mv backup.sqlite", in: dataGuide))
    let restored = try SellingProcess(tool)
    #expect(try tool.buy(restored.url, "order", body).status == 200)
  }

  @Test(
    "The ledger can be in PostgreSQL",
    .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.reason)))
  func postgres() throws {
    let database = try PostgresServer.shared().database()
    let (_, options) = try split(block("--database postgresql", in: dataGuide))
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

  /// The guide's configuration of nginx, with another rule for `targets` unless `gate` is the first.
  private func configuration(_ gate: String) throws -> String {
    let first = try #require(guide.blocks(in: "nginx auth_request").first).text
    guard gate != "auth-request" else { return first }
    let second = try #require(guide.blocks(in: "nginx secure_link").first).text
    let start = try #require(first.range(of: "  location /targets/")).lowerBound
    let end = try #require(first.range(of: "  location /v1/")).lowerBound
    let secret = try tool.text("gate-secret").trimmingCharacters(in: .newlines)
    return "\(first[..<start])\(second.replacing("SECRET", with: secret))\(first[end...])"
  }

  @Test(
    "Behind nginx, only buyers get packages", .enabled(if: Nginx.isInstalled, "\(Nginx.reason)"),
    arguments: ["auth-request", "secure-link"])
  func gates(gate: String) throws {
    let (commands, options) = try split(block("--gate auth-request", in: guide))
    try follow(commands)
    try tool.succeed("store", "publish", "store", Tool.sample("chapter2-1.0.pkg"))
    let certificate = try TestCertificate.right.write(to: tool.folder)
    let backend = try ReservedPort()
    let configuration = try configuration(gate)
    let nginx = try Nginx { port in
      configuration.replacing("listen 443", with: "listen 127.0.0.1:\(port)")
        .replacing("/etc/ssl/store.pem", with: certificate.chain)
        .replacing("/etc/ssl/store.key", with: certificate.key)
        .replacing("/srv/store", with: tool.folder.path("store"))
        .replacing("/var/cache/nginx/grants", with: tool.folder.path("cache"))
        .replacing("/var/log/nginx/", with: tool.folder.path("nginx-"))
        .replacing(Self.address, with: "http://127.0.0.1:\(backend.number)")
    }
    let host = "https://localhost:\(nginx.port)"
    let server = try SellingProcess(
      tool,
      options.map {
        $0.replacing("https://store.example.com", with: host)
          .replacing("auth-request", with: gate)
      }, listen: "127.0.0.1:\(backend.number)")
    let buyer = ["--service", host, "--service-token-file", "token", "--ca", certificate.chain]
    let store = ["--store", host, "--root", "store/metadata/1.root.json", "--library", "library"]
    try tool.succeed(["get", "com.example.chapter1", "--account", "alice"] + store + buyer)
    #expect(try tool.current("library") == ["com.example.chapter1": "1.0"])
    // Without a purchase at the server, the built-in seller's buyers get nothing.
    try tool.fail(
      ["get", Tool.chapter2, "--quiet"] + store + ["--ca", certificate.chain], saying: ["[206]"])
    try attack(host, certificate.chain)
    let logs = try ["nginx-store.log", "nginx-store.error.log"].map { try tool.text($0) }.joined()
    #expect(logs.contains("/targets/") && !logs.contains("grant=") && !logs.contains("md5="))
    #expect(server.stop() == 0)
  }

  /// Requests with URLs that were not given for them get nothing.
  private func attack(_ host: String, _ authority: String) throws {
    let content = #"{"contentIdentifier": "com.example.chapter1", "version": "1.0"}"#
    let answer = try tool.call(
      "\(host)/v1/content-grants",
      [
        "--cacert", authority, "--header", "Content-Type: application/json", "--data",
        #"{"account": "alice", "contents": [\#(content)]}"#,
      ])
    let files = try #require(answer.document["files"] as? [[String: Any]])
    let urls = files.flatMap { $0["urls"] as? [String] ?? [] }
    let url = try #require(urls.first { $0.contains(".pkg?") })
    let parts = url.split(separator: "?").map(String.init)
    let path = try #require(parts.first?.dropFirst(host.count))
    let others = try tool.tree("store/targets").keys.filter { $0.contains(Tool.chapter2) }
    let other = try #require(others.first { $0.hasSuffix(".pkg") })
    func status(_ target: String, _ words: [String] = []) throws -> Int {
      let more = ["--cacert", authority, "--path-as-is", "--output", "/dev/null"] + words
      return try tool.call("\(host)\(target)", more, token: nil).status
    }
    #expect(try status("\(path)?\(parts[1])") == 200)
    #expect(try status("\(path)?\(parts[1])", ["--range", "0-9"]) == 206)
    let bearer = try ["--header", "Authorization: Bearer \(tool.text("token"))"]
    for target in [
      String(path), "\(path)?\(parts[1])x", "/targets/\(other)?\(parts[1])", "/targets/\(other)",
      "/targets/com.example.chapter1/%2e%2e/\(other)?\(parts[1])",
      "/targets//\(other)?\(parts[1])", "/internal/authorize",
    ] {
      let found = try status(target, bearer)
      #expect([401, 403, 404].contains(found), "\(target): \(found)")
    }
    // Clients read the records before they buy.
    let records = try tool.tree("store/targets").keys.filter { $0.hasSuffix("product.json") }
    for record in records { #expect(try status("/targets/\(record)") == 200, "\(record)") }
  }

  // MARK: systemd

  @Test("systemd accepts the units, and the service takes the socket")
  func units() throws {
    let socket = try #require(dataGuide.blocks(in: "ini socket").first).text
    let service = try #require(dataGuide.blocks(in: "ini service").first).text
      .replacing("/usr/local/bin/hostedcontent", with: Tool.path)
    #expect(socket.contains("ListenStream=127.0.0.1:8090\n"))
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

    guard let program = ServerProcess.path(of: "systemd-analyze") else { return }
    try tool.write(socket, to: "store-server.socket")
    try tool.write(service, to: "store-server.service")
    let paths = ["socket", "service"].map { tool.folder.path("store-server.\($0)") }
    let result = try tool.run(["verify", "--man=no"] + paths, program: program)
    #expect(result.status == 0 && result.output == "" && result.errors == "", "\(result.errors)")
  }
}
