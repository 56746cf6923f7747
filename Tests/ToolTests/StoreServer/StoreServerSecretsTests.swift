import HostedHTTPValues
import HostedTrust
import HostedModel
import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// No secret is in what a server and its clients write, whether their work succeeds or fails.
@Suite(
  "Secrets of a store server", .slow,
  .waiting, .timeLimit(.hang))
struct StoreServerSecretsTests {
  private let tool: Tool
  /// The content host.
  private let host: FileServer
  private let search = SecretSearch(holders: Self.holders)

  /// The only files that may contain a secret.
  private static let holders: [String: Set<String>] = [
    "token": ["token"], "wrong": ["token"], "service.pem": ["private key"],
    "jwt": ["JWT"], "expired": ["expired JWT"],
    // The header field of the last request with curl.
    ".auth": ["token", "JWT", "expired JWT"],
    "gate": ["gate secret"], "webhook-secret": ["webhook secret"],
    "voucher": ["voucher"], "voucher-2": ["voucher"],
    "password": ["password"], "wrong-password": ["wrong password"],
    "data/receipt-key.pem": ["receipt key"],
  ]

  init() throws {
    tool = try Tool.withBook()
    var configuration = FileServer.Configuration()
    configuration.authorize = { request in
      let isSigned = request.target.contains("?grant=") || request.target.contains("?md5=")
      return request.path.hasSuffix(".pkg") && !isSigned ? 403 : nil
    }
    host = try FileServer(folder: tool.folder.path("store"), configuration: configuration)
    try host.start()
    search.add("signed URL", "?grant=")
    search.add("signed URL", "?md5=")
  }

  // MARK: Tests

  @Test("With a webhook, auth_request, JWTs, refusals, failures and a damaged ledger")
  func webhook() throws {
    try addToken()
    try addReceiptKey()
    try addSecret("gate secret", in: "gate")
    try addSecret("webhook secret", in: "webhook-secret")
    try addSecret("voucher", in: "voucher")
    let webhook = try ScriptedServer { decide($0) }
    let server = try SellingProcess(
      tool,
      [
        "--decide", "webhook", "--webhook-url", webhook.url(), "--webhook-secret-file",
        "webhook-secret", "--gate", "auth-request", "--content-url", host.url,
        "--gate-secret-file", "gate",
      ])
    try buyWithJWT(server)
    let service = server.service()
    try run(["get", Tool.chapter2, "--account", "alice"] + library + service)
    addSignedURLs("grant")
    try search.expectNone(in: tool)

    let buy = ["purchase", Tool.chapter1, "--voucher-file", "voucher", "--account"]
    try run(buy + ["poor"] + service, status: 1, saying: "No money")
    try run(buy + ["broken", "--busy-timeout", "1"] + service, status: 1)
    try run(buy + ["alice"] + server.service("wrong"), status: 1, saying: "[206]")
    try run(["history"] + server.service("wrong"), status: 1, saying: "[206]")
    try host.setFaults(FaultScript("*.pkg status 403"))
    try run(
      ["get", Tool.chapter1, "--account", "alice"] + library + service, status: 1, saying: "[206]")
    addSignedURLs("grant")
    try noteOpenPages(server)
    try noteArguments(server.process)
    try damageLedger()
    #expect([500, 503].contains(try tool.buy(server.url, "late", RequestFixture.body).status))
    try run(["history", "--busy-timeout", "1"] + service, status: 1)
    server.stop()
    try run(["store-server", "key", "list", "--data", "data"], status: 1)

    let log = server.log
    #expect(log.contains("status 500") && log.contains("ledger"), "failures are logged: \(log)")
    let signatures = webhook.requests.compactMap { $0.header("webhook-signature") }
    #expect(!signatures.isEmpty)
    for signature in signatures { search.add("webhook signature", signature) }
    try search.expectNone(in: tool)
  }

  @Test("With vouchers, secure_link, and a client that is killed during a download")
  func vouchers() throws {
    try addToken()
    try addReceiptKey()
    try addSecret("gate secret", in: "gate")
    let add = ["store-server", "voucher", "add", "--data", "data", "--count", "2"]
    let codes = try tool.succeed(add).output.split(separator: "\n").map(String.init)
    #expect(codes.count == 2)
    for (code, file) in zip(codes, ["voucher", "voucher-2"]) {
      try tool.write(code, to: file)
      search.add("voucher", code)
    }
    let server = try SellingProcess(
      tool,
      [
        "--decide", "voucher", "--gate", "secure-link", "--content-url", host.url,
        "--gate-secret-file", "gate",
      ])
    let service = server.service()
    let buy = ["purchase", Tool.chapter1, "--account", "alice", "--voucher-file", "voucher"]
    try run(buy + service)
    let other = ["purchase", Tool.chapter1, "--account", "bob", "--voucher-file", "voucher"]
    try run(other + service, status: 1, saying: "declined")
    try run(["get", Tool.chapter2, "--account", "alice"] + library + service, status: 1)

    try host.setFaults(FaultScript("*.pkg stall 10"))
    let restore = ["restore", "--download", "--account", "alice"] + library + service
    let client = try tool.start(
      restore, output: tool.folder.path("restore.out"), errors: tool.folder.path("restore.err"))
    client.wait { host.requests.contains { $0.path.hasSuffix(".pkg") } }
    try noteArguments(client)
    client.kill(SIGKILL)
    client.waitUntilExit()
    addSignedURLs("md5")
    try search.expectNone(in: tool)

    try host.setFaults(.none)
    try run(restore)
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    addSignedURLs("md5")
    try noteOpenPages(server)
    try noteArguments(server.process)
    #expect(server.stop() == 0)
    try run(["store-server", "backup", "--data", "data", "--output", "backup.sqlite"])
    try search.expectNone(in: tool)
  }

  @Test(
    "With PostgreSQL, a wrong password, and a database that goes away",
    .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.reason)))
  func postgres() throws {
    let database = try PostgresServer.shared().database()
    try database.run("GRANT ALL ON SCHEMA public TO guarded")
    try addPassword("password", "rightsecret", in: "password")
    try addPassword("wrong password", "wrongsecret", in: "wrong-password")
    let address = database.server.url(database.name, user: "guarded")
    let ledger = ["--database", "\(address)&passfile=\(tool.folder.path("password"))"]
    let wrong = ["--database", "\(address)&passfile=\(tool.folder.path("wrong-password"))"]
    try addToken(ledger: ledger)
    try run(["store-server", "key", "list"] + ledger)
    try run(["store-server", "key", "list"] + wrong, status: 1)
    let code = try tool.succeed(["store-server", "voucher", "add"] + ledger).output
      .trimmingCharacters(in: .newlines)
    search.add("voucher", code)
    try tool.write(code, to: "voucher")
    let server = try SellingProcess(tool, ["--decide", "voucher"] + ledger)
    try addReceiptKey()
    let buy = ["purchase", Tool.chapter1, "--voucher-file", "voucher", "--account", "alice"]
    try run(buy + server.service())
    try run(buy + server.service("wrong"), status: 1, saying: "[206]")
    try noteArguments(server.process)
    let tables = try database.run(
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    #expect(tables.contains("purchase"))
    for table in tables.split(separator: "\n") { search.note(try database.run("TABLE \(table)")) }

    try database.server.run("ALTER DATABASE \(database.name) ALLOW_CONNECTIONS false")
    try database.server.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)'")
    #expect([500, 503].contains(try tool.buy(server.url, "late", RequestFixture.body).status))
    try run(["store-server", "key", "list"] + ledger, status: 1)
    let log = server.log
    #expect(log.contains("ledger"), "failures are logged: \(log)")
    server.stop()
    try search.expectNone(in: tool)
  }
}

extension StoreServerSecretsTests {
  // MARK: Secrets

  /// Writes a new secret to a file.
  private func addSecret(_ name: String, in file: String) throws {
    let secret = "\(UUID().uuidString)\(UUID().uuidString)"
    try tool.write(secret, to: file)
    search.add(name, secret)
  }

  private func addPassword(_ name: String, _ password: String, in file: String) throws {
    try tool.write("*:*:*:*:\(password)\n", to: file)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: tool.folder.path(file))
    search.add(name, password)
  }

  private func addToken(ledger: [String] = ["--data", "data"]) throws {
    try tool.addKey(ledger: ledger)
    let token = try tool.text("token")
    search.add("token", token)
    search.add("token", String(token.dropFirst("hct_".count)))
    try tool.write("\(token)x", to: "wrong")
  }

  private func addReceiptKey() throws {
    search.add("receipt key", try firstLine(ofPEM: tool.text("data/receipt-key.pem")))
  }

  private func firstLine(ofPEM text: String) throws -> String {
    String(try #require(text.split(separator: "\n").dropFirst().first))
  }

  /// Buys with a JWT and a voucher, and asks with an expired JWT.
  private func buyWithJWT(_ server: SellingProcess) throws {
    let signer = try JWTService(tool, for: server)
    let pem = String(decoding: try signer.key.pem, as: UTF8.self)
    try tool.write(pem, to: "service.pem")
    search.add("private key", try firstLine(ofPEM: pem))
    let expired = try signer.jwt(["exp": .integer(signer.now - 600)])
    for (name, file, jwt) in [
      ("JWT", "jwt", try signer.jwt()), ("expired JWT", "expired", expired),
    ] {
      try tool.write(jwt, to: file)
      search.add(name, jwt)
      search.add(name, String(try #require(jwt.split(separator: ".").last)))
    }
    let voucher = try tool.text("voucher")
    let body = RequestFixture.body.replacing("}", with: ", \"voucher\": \"\(voucher)\"}")
    #expect(try tool.buy(server.url, "order", body, token: "jwt").status == 201)
    let refused = try tool.buy(server.url, "refused", body, token: "expired")
    #expect(refused.status == 401)
    search.note("\(refused.document)")
    try run(["history"] + server.service("expired"), status: 1, saying: "[206]")
  }

  /// Adds the signed URLs that clients have used.
  private func addSignedURLs(_ parameter: String) {
    let queries = host.requests.compactMap { served in
      served.request.target.split(separator: "?").dropFirst().first
    }
    let values = queries.flatMap { $0.split(separator: "&") }
      .filter { $0.hasPrefix("\(parameter)=") }.map { $0.dropFirst(parameter.count + 1) }
    #expect(!values.isEmpty)
    for value in Set(values) { search.add("signed URL", String(value)) }
  }

  // MARK: What is searched

  /// Runs the tool, and searches what it prints.
  private func run(
    _ words: [String], status: Int32 = 0, saying text: String = "",
    location: SourceLocation = #_sourceLocation
  ) throws {
    let result = try tool.run(words)
    search.note(result.output)
    search.note(result.errors)
    #expect(
      result.status == status && (text.isEmpty || result.errors.contains(text)),
      "\(words.joined(separator: " ")): \(result)", sourceLocation: location)
  }

  /// Searches the responses to requests that need no key.
  private func noteOpenPages(_ server: SellingProcess) throws {
    for path in ["healthz", "readyz", "metrics", "v1/openapi.json", "internal/authorize"] {
      search.note(try server.client().get("/\(path)").body)
    }
  }

  /// Searches the arguments of a process.
  private func noteArguments(_ process: ChildProcess) throws {
    let path = "/proc/\(process.processIdentifier)/cmdline"
    let arguments = try String(contentsOfFile: path, encoding: .utf8)
    #expect(arguments.contains("hostedcontent"))
    search.note(arguments)
  }

  /// The options of commands that install in `lib` from the content host.
  private var library: [String] {
    ["--store", host.url, "--root", "store/metadata/1.root.json", "--library", "lib"]
  }

  /// Replaces the ledger of a running server by a damaged file.
  private func damageLedger() throws {
    let manager = FileManager.default
    try manager.moveItem(
      atPath: tool.folder.path("data/ledger.sqlite"), toPath: tool.folder.path("data/intact"))
    for end in ["-wal", "-shm"] {
      try? manager.moveItem(
        atPath: tool.folder.path("data/ledger.sqlite\(end)"),
        toPath: tool.folder.path("data/intact\(end)"))
    }
    try tool.write(String(repeating: "damaged ", count: 1_000), to: "data/ledger.sqlite")
  }
}

/// A webhook that decides by account, and repeats in a failure what it was sent.
private func decide(_ request: ScriptedServer.Request) -> ScriptedServer.Answer {
  let body = String(decoding: request.body, as: UTF8.self)
  if body.contains("\"broken\"") {
    return .http("500 Internal Server Error", body: Array(request.head.utf8) + request.body)
  }
  let decision =
    body.contains("\"poor\"")
    ? #"{"decision": "decline", "reason": "No money"}"# : #"{"decision": "approve"}"#
  return .http("200 OK", body: Array(decision.utf8))
}
