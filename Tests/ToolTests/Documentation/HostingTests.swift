import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The configuration and the script of the hosting guide.
@Suite("Hosting with nginx", .enabled(if: Nginx.isInstalled, "\(Nginx.reason)"))
struct HostingTests {
  private static let root = URL(filePath: Tool.samples).deletingLastPathComponent()

  /// The guide's `server` block.
  private static func block() throws -> String {
    let page = try DocumentPage("Sources/Publishing/ContentStore/ContentStore.docc/Hosting.md")
    return try #require(page.blocks(in: "nginx").first).text
  }

  @Test("The guide's configuration serves a store over TLS, and not apps.json")
  func configuration() throws {
    let tool = try Tool.withBook()
    try tool.write("{}", to: "store/apps.json")
    let certificate = try TestCertificate.right.write(to: tool.folder)
    let block = try Self.block()
    let nginx = try Nginx { port in
      block.replacing("listen 443", with: "listen 127.0.0.1:\(port)")
        .replacing("/etc/ssl/store.pem", with: certificate.chain)
        .replacing("/etc/ssl/store.key", with: certificate.key)
        .replacing("/srv/store", with: tool.folder.path("store"))
    }
    let url = "https://localhost:\(nginx.port)/"
    try tool.succeed(
      "get", Tool.chapter1, "--store", url, "--root", "store/metadata/1.root.json", "--ca",
      certificate.chain, "--library", "lib")
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    let check = try tool.succeed(
      "store", "check", "--at", url, "--root", "store/metadata/1.root.json", "--ca",
      certificate.chain)
    #expect(check.output.contains(": 0 errors, 0 warnings, 0 notes; "), "\(check.output)")
    let request = "printf 'GET /apps.json HTTP/1.0\\r\\n\\r\\n'"
    let answer = try tool.run(
      ["-c", "\(request) | openssl s_client -quiet -connect localhost:\(nginx.port)"],
      program: "/bin/bash")
    #expect(answer.output.hasPrefix("HTTP/1.1 404 "), "\(answer.output)\(answer.errors)")
    #expect(nginx.requests().contains { $0.contains("timestamp.json") })
  }

  @Test(
    "The script only needs a folder, and prints its URL", .slow, arguments: ["store", "a store"])
  func folder(name: String) throws {
    let tool = try Tool.withBook()
    if name != "store" {
      try FileManager.default.moveItem(
        atPath: tool.folder.path("store"), toPath: tool.folder.path(name))
    }
    let script = Self.root.appending(path: "Scripts/serve-with-nginx").path(percentEncoded: false)
    let words = [
      "-ec",
      """
      coproc server { exec "$0" "$2"; }
      trap 'kill "$server_PID"' EXIT
      read -r url <&"${server[0]}"
      "$1" get \(Tool.chapter1) --store "$url" --root "$2/metadata/1.root.json" --library lib
      """, script, Tool.path, name,
    ]
    let result = try tool.run(
      words, program: "/bin/bash", environment: ["TMPDIR": tool.folder.path])
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
  }

  @Test("The script prints its usage")
  func script() throws {
    let script = Self.root.appending(path: "Scripts/serve-with-nginx").path(percentEncoded: false)
    let wrong = try Tool().run([], program: script)
    #expect(wrong.status == 2 && wrong.errors.hasPrefix("Usage: "))
  }
}
