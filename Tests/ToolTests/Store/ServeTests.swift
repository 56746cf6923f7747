import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

@Suite("Serve")
struct ServeTests {
  /// Starts `serve` and waits until it prints its URL.
  ///
  /// It ends with the test.
  func serving(
    _ tool: Tool, _ words: [String], _ body: (ChildProcess, URL) async throws -> Void
  ) async throws {
    let process = try tool.start(
      ["serve", "store", "--listen", "127.0.0.1:0"] + words,
      output: tool.folder.path("out.txt"), errors: tool.folder.path("err.txt"))
    defer {
      process.kill(SIGKILL)
      process.waitUntilExit()
    }
    try process.wait { try tool.text("out.txt").hasSuffix("/\n") }
    let line = try tool.text("out.txt")
    let address = try #require(
      line.wholeMatch(of: #/(https?://127\.0\.0\.1:[0-9]+/)\n/#), "\(line)")
    try await body(process, try #require(URL(string: String(address.output.1))))
  }

  /// The status and the body of a GET request.
  private func get(_ url: URL) throws -> (status: String, body: Data) {
    let folder = try TemporaryFolder()
    let answer = folder.path("answer")
    // Bash can use TCP, so that the test needs no HTTP client.
    let words = [
      "-c",
      "exec 3<>/dev/tcp/127.0.0.1/$0; printf 'GET %s HTTP/1.0\\r\\n\\r\\n' \"$1\" >&3; cat <&3",
      "\(url.port ?? 0)", url.path(percentEncoded: true),
    ]
    try ChildProcess("/bin/bash", words, output: answer).waitUntilExit()
    let bytes = try Data(contentsOf: URL(filePath: answer))
    let mark = try #require(bytes.firstRange(of: Data("\r\n\r\n".utf8)))
    let line = String(decoding: bytes[..<mark.lowerBound], as: UTF8.self).split(separator: "\r\n")[
      0]
    return (line.split(separator: " ")[1].description, bytes[mark.upperBound...])
  }

  @Test(
    "A store is served until a signal, with exit status 0",
    arguments: [SIGTERM, SIGINT])
  func serves(signal: Int32) async throws {
    let tool = try Tool.withBook()
    try await serving(tool, []) { process, url in
      let metadata = try get(url.appending(path: "metadata/timestamp.json"))
      #expect(metadata.status == "200")
      #expect(
        metadata.body
          == FileManager.default.contents(
            atPath: tool.folder.path("store/metadata/timestamp.json")))
      #expect(try get(url.appending(path: "store.keys/root.pem")).status == "404")
      process.kill(signal)
      process.waitUntilExit()
      #expect(process.terminationReason == .exit)
      #expect(process.terminationStatus == 0)
      #expect(try tool.text("err.txt") == "")
    }
  }

  @Test("With --json, the URL is a document in one line")
  func document() throws {
    let tool = try Tool.withBook()
    let process = try tool.start(
      ["serve", "store", "--listen", "127.0.0.1:0", "--json"], output: tool.folder.path("out.txt"))
    defer {
      process.kill(SIGKILL)
      process.waitUntilExit()
    }
    try process.wait { try tool.text("out.txt").hasSuffix("\n") }
    let text = try tool.text("out.txt")
    let document = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let address = try #require(document?["url"] as? String, "\(text)")
    let url = try #require(URL(string: address))
    #expect(try get(url.appending(path: "metadata/timestamp.json")).status == "200")
    #expect(text.split(separator: "\n").count == 1)
  }

  @Test("Faults come from a script, and --verbose logs responses and faults")
  func faults() async throws {
    let tool = try Tool.withBook()
    try tool.write("# Busy at first\n*.json status 503 retry-after 1 once\n", to: "faults.txt")
    try await serving(tool, ["--fault", "faults.txt", "--verbose", "--rate", "50MB/s"]) {
      process, url in
      let timestamp = url.appending(path: "metadata/timestamp.json")
      #expect(try get(timestamp).status == "503")
      #expect(try get(timestamp).status == "200")
      process.kill(SIGTERM)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      let lines = try tool.text("err.txt").split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines.first?.hasPrefix("GET /metadata/timestamp.json - 503 ") == true)
      #expect(lines.first?.hasSuffix("# *.json status 503 retry-after 1 once") == true)
    }
  }

  @Test(
    "An invalid apps.json is reported at the start and once per change, without a request", .slow)
  func damagedApps() async throws {
    let tool = try Tool.withBook()
    let damaged = #"""
      {"apps": [
        {"listing": {"trackId": 1, "version": "1.0"},
         "contries": ["us"]}
      ]}
      """#
    // In one step, like a publisher.
    func replace(_ text: String) throws {
      let path = URL(filePath: tool.folder.path("store/apps.json"))
      try Data(text.utf8).write(to: path, options: .atomic)
    }
    try replace(damaged)
    try tool.fail(
      "serve", "store", "--listen", "127.0.0.1:0", saying: ["apps.json line 3", "contries"])
    for first in [nil, #"{"apps": []}"#] {
      try FileManager.default.removeItem(atPath: tool.folder.path("store/apps.json"))
      if let first { try replace(first) }
      // Even with --quiet, because it is an error.
      try await serving(tool, ["--quiet"]) { process, url in
        try replace(damaged)
        try process.wait { try !tool.text("err.txt").isEmpty }
        let status = try get(url.appending(path: "lookup")).status
        #expect((status == "500") == (first == nil), "\(status)")
        try replace("\n\(damaged)")
        try process.wait { try tool.text("err.txt").contains("line 4") }
        process.kill(SIGTERM)
        process.waitUntilExit()
        let lines = try tool.text("err.txt").split(separator: "\n")
        #expect(lines.count == 2, "\(lines)")
        #expect(lines.first?.contains("apps.json line 3") == true, "\(lines)")
      }
    }
  }

  @Test("A folder that cannot be served is an error with a remedy", .slow)
  func refusals() throws {
    let tool = try Tool.withBook()
    try tool.fail("serve", "nothing", saying: ["Cannot open the store at nothing"])
    try tool.fail("serve", tool.folder.path, saying: ["Cannot open the store at"])
    try tool.fail("serve", "store", "--fault", "nothing.txt", saying: ["nothing.txt"])
    try tool.write("* close\n/a clsoe\n", to: "faults.txt")
    try tool.fail(
      "serve", "store", "--fault", "faults.txt", status: 2,
      saying: ["Line 2 of faults.txt: Unknown fault “clsoe”"])
    for words in [
      ["--listen", "8080"], ["--listen", ":80"], ["--listen", "localhost:65536"],
      ["--listen", "::1:80"], ["--latency", "5"], ["--rate", "5MB"], ["--certificate", "c"],
      ["--key", "k"], ["--listen", ""], ["--fault", ""],
    ] {
      let result = try tool.run(["serve", "store"] + words)
      #expect(result.status == 2, "\(words): \(result.errors)")
      #expect(result.errors.contains(words[0]))
    }
    try tool.fail("serve", "store", "--listen", "256.0.0.1:0", saying: ["256.0.0.1"])
  }

  @Test("Addresses are split at the last colon")
  func places() {
    #expect(ListenAddress("127.0.0.1:8080")?.address == "127.0.0.1")
    #expect(ListenAddress("[::1]:0")?.address == "::1")
    #expect(ListenAddress("localhost:1")?.port == 1)
    for text in ["", ":", "a:", ":1", "::1:1", "[]:1", "a:-1", "a:65536", "a"] {
      #expect(ListenAddress(text) == nil, "\(text)")
    }
  }
}
