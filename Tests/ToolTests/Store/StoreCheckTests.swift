import HostedHTTPValues
import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// The command `store check`; `HostingCheckTests` has its findings.
@Suite("The command store check", .timeLimit(.hang))
struct StoreCheckTests {
  private let tool: Tool
  private let server: FileServer

  init() throws {
    tool = try Tool.withBook()
    server = try tool.serveStore()
  }

  private func words(_ more: String...) -> [String] {
    ["store", "check", "--at", server.url, "--root", "store/metadata/1.root.json"] + more
  }

  @Test("A healthy store ends with 0 and a summary")
  func healthy() throws {
    for more in [[], ["--all"], ["--json"]] {
      let result = try tool.run(words() + more)
      #expect(result.status == 0, "\(result.output)\(result.errors)")
      #expect(result.errors == "")
      guard more != ["--json"] else { continue }
      let start = "\(server.url): 0 errors, 0 warnings, 0 notes; 7 of 7 files compared, "
      #expect(result.output.hasPrefix(start), "\(result.output)")
      #expect(result.output.split(separator: "\n").count == 1)
    }
  }

  @Test("An error has one line with a remedy, and ends with 1")
  func error() throws {
    try server.setFaults(FaultScript("*chapter2*.pkg gzip\n*.pkg HEAD status 405"))
    let result = try tool.run(words())
    #expect(result.status == 1)
    #expect(result.errors == "")
    let lines = result.output.split(separator: "\n")
    try #require(lines.count == 3, "\(result.output)")
    #expect(lines[0].hasPrefix("error: targets/\(Tool.chapter2)/1.0/"))
    #expect(lines[0].contains(" — nginx: gzip off;"))
    #expect(lines[1].hasPrefix("note: HEAD of targets/"))
    #expect(lines[2].contains(": 1 error, 0 warnings, 1 note; "))
  }

  @Test("A warning ends with 0")
  func warning() throws {
    try server.setFaults(FaultScript("*.pkg ignore-range"))
    let result = try tool.succeed("store", "check", "--at", server.url)
    #expect(result.output.hasPrefix("warning: targets/"), "\(result.output)")
    #expect(result.output.contains("(and 1 more)"))
    #expect(result.errors.contains("Without --root"))
  }

  @Test("The JSON has the findings with their kinds, and the counts")
  func json() throws {
    try server.setFaults(FaultScript("*/timestamp.json status 401"))
    let result = try tool.run(words("--json"))
    #expect(result.status == 1)
    let report = try result.json()
    #expect(report["url"] as? String == server.url)
    #expect(report["errors"] as? Int == 1)
    let finding = try #require((report["findings"] as? [[String: Any]])?.first)
    #expect(finding["severity"] as? String == "error")
    #expect(finding["kind"] as? String == "access-denied")
    #expect(finding["path"] as? String == "metadata/timestamp.json")
    #expect(finding["others"] as? Int == 0)
    #expect((finding["remedy"] as? String)?.contains("--token-file") == true)
  }

  @Test("A token reaches the server, and is not printed")
  func token() throws {
    try tool.write("secret-of-ann\n", to: "token")
    let result = try tool.run(words("--token-file", "token"))
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(!(result.output + result.errors).contains("secret"))
    let tokens = server.requests.map { $0.request.headers["authorization"] }
    #expect(Set(tokens) == ["Bearer secret-of-ann"])
  }

  @Test(
    "A folder or a file that is not a root is refused",
    arguments: [
      (["--at", "store"], Int32(2), "is not an http or https URL"),
      (["--at", "http://127.0.0.1:1/", "--root", "token"], Int32(1), "is not the root metadata"),
    ])
  func refused(words: [String], status: Int32, message: String) throws {
    try tool.write("no root\n", to: "token")
    try tool.fail(["store", "check"] + words, status: status, saying: [message])
  }
}
