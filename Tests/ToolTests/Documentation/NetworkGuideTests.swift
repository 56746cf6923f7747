import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs the commands of Documentation/Network.md with servers that require its options.
@Suite(
  "The guide to network settings",
  .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)), .timeLimit(.hang))
struct NetworkGuideTests {
  /// Answers only requests with the token.
  private static let guarded = #"if ($http_authorization != "Bearer secret") { return 401; }"#
  private let tool: Tool
  private let commands: [String]

  init() throws {
    tool = try Tool()
    try tool.offerBook()
    try tool.write("secret\n", to: "token")
    commands = try DocumentPage("Documentation/Network.md").blocks(in: "sh").map(\.text)
  }

  @Test(
    "The store sends metadata, the mirror packages, and both need token and proxy", .slow,
    .enabled(if: Squid.isInstalled, Comment(rawValue: Squid.reason)))
  func mirrorAndProxy() throws {
    let files = try TestCertificate.right.write(to: tool.folder)
    let secure = "ssl_certificate \(files.chain); ssl_certificate_key \(files.key);"
    func server(_ more: String) throws -> Nginx {
      try Nginx(
        serving: tool.folder.path("store"), listen: "ssl",
        directives: "\(secure) \(Self.guarded) \(more)")
    }
    let store = try server("location /targets/ { return 404; }")
    let mirror = try server("")
    // The certificate is not from an authority of the system.
    let address = "https://127.0.0.1:\(store.port)/ --ca \(files.chain)"
    let text = try #require(commands.first)
    let command = text.replacing("https://content.example.com/", with: address)
      .replacing("https://mirror.example.com/", with: "https://127.0.0.1:\(mirror.port)/")
    func get(through proxy: Squid) throws -> Tool.Result {
      try withExtendedLifetime(proxy) {
        try tool.follow(command.replacing("http://proxy.example.com:3128", with: proxy.url))
      }
    }
    let refused = try get(through: Squid(access: "http_access deny all"))
    #expect(refused.status == 1 && refused.errors.contains("proxy"), "\(refused.errors)")
    #expect(store.requests().isEmpty && mirror.requests().isEmpty)
    let result = try get(through: Squid())
    #expect(result.status == 0, "\(result.errors)")
    #expect(try tool.current() == ["com.example.book": "1.0"])
    #expect(store.requests().contains { $0.contains("timestamp.json") })
    #expect(mirror.requests().contains { $0.contains(".pkg") })
  }

  @Test("A token is sent over plain HTTP to the origin that is allowed", .slow)
  func plainHTTP() throws {
    let command = try #require(commands.last)
    // nginx also answers requests to a proxy, whatever their host is.
    let server = try Nginx(serving: tool.folder.path("store"), directives: Self.guarded)
    let proxy = ["http_proxy": server.url(""), "no_proxy": "", "NO_PROXY": ""]
    let option = try #require(command.range(of: "--allow-plain-http"))
    let refused = try tool.follow(String(command[..<option.lowerBound]), environment: proxy)
    #expect(refused.status == 1 && refused.errors.contains("[211]"), "\(refused.errors)")
    #expect(server.requests().isEmpty)
    let result = try tool.follow(command, environment: proxy)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try tool.current() == ["com.example.book": "1.0"])
    #expect(server.requests().contains { $0.hasPrefix("GET http://10.0.0.7:8080/targets/") })
  }
}
