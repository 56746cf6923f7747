import Foundation
import HostedTestSupport
import Testing

/// `store-server run` as a process, which ends with the last reference.
final class SellingProcess: Sendable {
  /// With a slash at its end.
  let url: String
  let process: ChildProcess
  private let output: String
  private let errors: String

  /// Sells `store` of a tool on a free port, with its data in `data`, and waits until it listens.
  init(
    _ tool: Tool, _ words: [String] = [], data: String = "data", listen: String = "127.0.0.1:0",
    environment: [String: String] = [:]
  ) throws {
    let number = UUID().uuidString
    output = tool.folder.path("server-\(number).out")
    errors = tool.folder.path("server-\(number).err")
    process = try tool.start(
      ["store-server", "run", "store", "--data", data] + words + ["--listen", listen],
      output: output, errors: errors, environment: environment)
    let path = output
    process.wait { Self.text(path).hasSuffix("\n") }
    let log = Self.text(path) + Self.text(errors)
    let found = log.firstMatch(of: #/http://127\.0\.0\.1:[0-9]+/#).map { "\($0.output)/" }
    url = try #require(found, "\(log)")
  }

  deinit {
    process.kill(SIGKILL)
    process.waitUntilExit()
  }

  /// What it has written to both outputs.
  var log: String { Self.text(output) + Self.text(errors) }

  /// Ends it like systemd does, and returns its exit status.
  @discardableResult
  func stop() -> Int32 {
    process.kill(SIGTERM)
    return process.waitUntilExit().status
  }

  /// The options of commands that use the server, with the token in the file `token`.
  func service(_ token: String = "token") -> [String] {
    ["--service", url, "--service-token-file", token]
  }

  private static func text(_ path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }
}

extension Tool {
  /// Adds a key to the data folder, writes its token to the file `name`, and returns its `kid`.
  @discardableResult
  func addKey(
    _ scopes: String = "read,purchase,content,admin", to name: String = "token",
    ledger: [String] = ["--data", "data"]
  ) throws -> String {
    let result = try succeed(
      ["store-server", "key", "add", "--scopes", scopes, "--json"] + ledger
    ).json()
    try write(try #require(result["token"] as? String), to: name)
    return try #require(result["kid"] as? String)
  }

  /// Sends a request with curl and the token in a file, and returns the status and the document.
  func call(
    _ url: String, _ words: [String] = [], token: String? = "token"
  ) throws -> (status: Int, document: [String: Any]) {
    var arguments = ["--silent", "--noproxy", "*", "--write-out", "\n%{http_code}", url] + words
    if let token {
      try write("Authorization: Bearer \(try text(token))", to: ".auth")
      arguments += ["--header", "@.auth"]
    }
    let result = try run(arguments, program: "/usr/bin/curl")
    let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
    let body = lines.dropLast().joined(separator: "\n")
    let document = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
    return (lines.last.flatMap { Int($0) } ?? 0, document ?? [:])
  }

  /// Buys a product with curl.
  func buy(
    _ url: String, _ transaction: String, _ body: String, token: String = "token"
  ) throws -> (status: Int, document: [String: Any]) {
    try call(
      "\(url)v1/purchases",
      [
        "--header", "Content-Type: application/json", "--header", "Idempotency-Key: \(transaction)",
        "--data", body,
      ], token: token)
  }

  /// The transactions that `entitlements` or `history` lists, with their states.
  func purchases(
    _ command: String, _ server: SellingProcess, account: String? = nil, token: String = "token"
  ) throws -> [String: String] {
    let account = account.map { ["--account", $0] } ?? []
    let result = try succeed([command, "--json"] + account + server.service(token)).json()
    let list = try #require(result["transactions"] as? [[String: Any]])
    let pairs = list.map {
      ($0["transactionIdentifier"] as? String ?? "", $0["state"] as? String ?? "")
    }
    return Dictionary(pairs) { first, _ in first }
  }
}

extension SellingProcess {
  /// Starts `words` with a listening socket as descriptor 3, as systemd does.
  ///
  /// Waits for a line in the file `out`. Errors are in `err`.
  static func startedBySystemd(_ words: [String], _ tool: Tool) throws -> ChildProcess {
    // The socket may already have descriptor 3: then dup2() does not make it inheritable.
    let shim = """
      import os, socket, sys
      listener = socket.create_server(("127.0.0.1", 0))
      os.dup2(listener.fileno(), 3)
      os.set_inheritable(3, True)
      os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
      os.execv(sys.argv[1], sys.argv[1:])
      """
    let process = try tool.start(
      ["-c", shim] + words, output: tool.folder.path("out"), errors: tool.folder.path("err"),
      program: "/usr/bin/python3")
    process.wait { (try? tool.text("out").hasSuffix("\n")) == true }
    return process
  }
}
