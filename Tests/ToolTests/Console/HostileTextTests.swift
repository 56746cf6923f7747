import HostedModel
import Foundation
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// Titles, names, paths, targets and server messages that try to control a terminal, forge a line,
/// or reverse the surrounding text.
@Suite("Hostile text", .timeLimit(.hang))
struct HostileTextTests {
  /// Characters that file names of a package cannot have, and others that they can have.
  static let control = "c\u{1b}[31m\u{9b}31m\r\nforged\u{7}\u{85}\u{7f}"
  static let invisible = "b\u{202e}d\u{2028}e\u{2029}f\u{200b}g\u{2066}h\u{feff}i\u{e0041}j"
  static let title = control + invisible

  /// Expects that only visible characters and line ends were printed.
  private func expectPrintable(
    _ result: Tool.Result, _ words: [String], location: SourceLocation = #_sourceLocation
  ) {
    for text in [result.output, result.errors] {
      let found = text.unicodeScalars.filter { $0 != "\n" && !$0.isPrintable }
      #expect(
        found.isEmpty, "\(words): \(found.map { String($0.value, radix: 16) })",
        sourceLocation: location)
      #expect(!text.contains("\nforged"), "\(words)", sourceLocation: location)
    }
  }

  @Test("No command prints hostile titles, names, paths and messages unescaped", .slow)
  func commands() throws {
    let tool = try Tool()
    let name = Tool.chapter1
    let file = "\(Self.invisible).txt"
    var packages: [String] = []
    for version in ["1.0", "1.1"] {
      packages.append(try tool.makePackage(name, version, [file: Data(version.utf8)]))
    }
    try tool.succeed("store", "init", "store")
    let details = [
      "--title", Self.invisible, "--description", Self.title, "--release-notes", Self.title,
    ]
    let library = "lib\(Self.invisible)"
    let at = ["--store", "store", "--library", library]
    let installed = "\(library)/products/\(name)/1.0/Contents/\(file)"
    func run(_ words: [String]) throws -> Tool.Result {
      let result = try tool.run(words)
      expectPrintable(result, words)
      return result
    }
    for words in [
      ["store", "publish", "store", packages[0]] + details,
      ["store", "add", "store", "com.example.club"] + details,
      ["products", "--store", "store"], ["store", "list", "store"],
      ["store", "status", "store"], ["store", "verify", "store"], ["store", "prune", "store"],
      ["inspect", packages[0]], ["validate", packages[0]],
      ["unpack", packages[0], "--into", "out\(Self.invisible)"],
      ["get", name] + at + ["--ledger", "grants"], ["list", "--library", library],
      ["pin", name, "1.0", "--library", library], ["pin", "--library", library],
      ["store", "publish", "store", packages[1]], ["updates"] + at,
      ["queue", "--library", library], ["queue", "--finished", "--library", library],
      ["restore"] + at + ["--ledger", "grants", "--account", Self.title],
    ] { #expect(try run(words).status == 0, "\(words)") }
    try tool.makeWritable(installed)
    try tool.write("damaged", to: installed)
    for words in [
      ["verify", "--library", library], ["products", Self.title, "--store", "store"],
      ["get", Self.title] + at, ["inspect", Self.title], ["list", "--library", Self.title],
      ["remove", Self.title, "--library", library], ["validate", Tool.sample("bad/\(Self.title)")],
      ["verify", Self.title, "--library", library], [Self.title], ["store", Self.title],
      ["list", "--\(Self.title)"], ["serve", "store", "--listen", Self.title],
      ["products", "--store", "http://\(Self.title)/"], ["products", "--store", Self.title],
      ["products", "--store", "http://127.0.0.1:1/\(Self.invisible)"],
      ["store", "add", "store", "com.example.x", "--price", Self.title],
      ["app-update", "--bundle-id", Self.title, "--installed", "1"],
      ["app-update", "--id", "5", "--installed", Self.title],
      ["serve", "store", "--fault", Self.title],
    ] { #expect(try run(words).status != 0, "\(words)") }
    for words in [
      ["repair"] + at, ["update"] + at, ["collect", "--library", library],
      ["remove", name, "--library", library],
    ] { _ = try run(words) }
  }

  @Test("JSON keeps every character of a text, escaped")
  func json() throws {
    let tool = try Tool.withBook()
    try tool.succeed("store", "add", "store", "com.example.club", "--title", Self.invisible)
    for words in [["products", "--store", "store"], ["store", "list", "store"]] {
      let result = try tool.run(words + ["--json"])
      expectPrintable(result, words)
      let products = try #require(try result.json()["products"] as? [[String: Any]])
      let titles = products.compactMap { product in
        let record = product["record"] as? [String: Any] ?? product
        let texts = record["texts"] as? [String: [String: Any]]
        return texts?["en"]?["title"] as? String
      }
      #expect(titles.contains(Self.invisible), "\(titles)")
    }
  }

  @Test("A progress bar shows a hostile name escaped, in the correct width")
  func bar() {
    let bar = ProgressBar(name: Self.title, progress: 0.5, details: Self.title)
    let line = bar.line(columns: 300)
    #expect(!line.unicodeScalars.contains { !$0.isPrintable })
    #expect(line.count <= 300)
  }

  @Test("Hostile texts of a feed and a server about an app are escaped")
  func apps() throws {
    let tool = try Tool()
    let title = "c\u{1b}[31m\u{9b}31m\u{85}\u{7f}" + Self.invisible
    let lines = [
      "#application_id\u{1}title\u{1}version\u{1}view_url", "5\u{1}\(title)\u{1}3.0\u{1}",
    ]
    try tool.write(lines.map { "\($0)\u{2}\n" }.joined(), to: "feed")
    let feed = ["app-update", "--id", "5", "--installed", "2.0", "--feed", "feed"]
    let result = try tool.run(feed)
    #expect(result.output.contains("3.0 is available"))
    expectPrintable(result, feed)
    let quoted = String(
      decoding: try JSONSerialization.data(
        withJSONObject: Self.title, options: .fragmentsAllowed), as: UTF8.self)
    for (status, body) in [
      (400, #"{"errorMessage": \#(quoted)}"#), (200, #"{"errorMessage": \#(quoted)}"#),
      (
        200,
        #"{"resultCount": 1, "results": [{"trackId": 5, "trackName": \#(quoted), "version": "3"}]}"#
      ),
      (200, #"{"results": [{"trackId": 5, "trackName": "a", "version": \#(quoted)}]}"#),
      (200, quoted), (200, "{\u{202e}"),
    ] {
      let server = try ScriptedServer { _ in .http("\(status) \(title)", body: Array(body.utf8)) }
      let words = ["app-update", "--id", "5", "--installed", "2.0", "--server", server.url("")]
      expectPrintable(try tool.run(words), [body])
    }
  }

  @Test("Hostile messages of a store's server are escaped")
  func serverMessages() throws {
    let tool = try Tool.withBook()
    let words = [
      "products", "--root", "store/metadata/1.root.json", "--attempts", "1", "--store",
    ]
    for answer in [
      ScriptedServer.Answer.http("200 OK", ["Content-Encoding: gz\(Self.invisible)"]),
      .http("404 \(Self.invisible)"),
      .http("302 Found", ["Location: http://127.0.0.1:1/\(Self.invisible)"]),
      .http("200 OK", ["Content-Type: text/html;\(Self.invisible)"], body: Array("{}".utf8)),
      .init(Array("HTTP/1.1 2\(Self.invisible)\r\n\r\n".utf8), then: .close),
    ] {
      let server = try ScriptedServer { _ in answer }
      let result = try tool.run(words + [server.url()])
      #expect(result.status == 1)
      expectPrintable(result, [String(decoding: answer.bytes, as: UTF8.self)])
    }
  }

  @Test("serve --verbose logs hostile requests escaped, in one line each")
  func accessLog() async throws {
    let tool = try Tool.withBook()
    try await ServeTests().serving(tool, ["--verbose"]) { process, url in
      let port = UInt16(try #require(url.port))
      for request in [
        "GET /\(Self.invisible) HTTP/1.1\r\nHost: x\r\n",
        "GET /\u{1b}[31m HTTP/1.1\r\nHost: x\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=\(Self.invisible) 200 5\r\n",
        "GE\u{202e}T /a HTTP/1.1\r\nHost: x\r\n",
        "GET /\(String(repeating: "a\u{301}", count: 5_000)) HTTP/1.1\r\nHost: x\r\n",
      ] { try ask(port, request + "Connection: close\r\n\r\n") }
      process.kill(SIGTERM)
      process.waitUntilExit()
      let log = try tool.text("err.txt")
      #expect(log.unicodeScalars.allSatisfy { $0 == "\n" || $0.isPrintable })
      let lines = log.split(separator: "\n")
      #expect(lines.count == 5)
      for line in lines {
        #expect(line.split(separator: " ").count == 5, "\(line)")
        #expect(line.unicodeScalars.count < 3_000)
      }
    }
  }

  /// Sends a request and waits for the end of the connection.
  private func ask(_ port: UInt16, _ text: String) throws {
    let client = try APIClient(port: port)
    client.send(text)
    _ = client.end()
  }
}
