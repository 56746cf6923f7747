import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The use of a mirror if the first server of a store fails.
@Suite(
  "A mirror of a store", .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)),
  .timeLimit(.hang))
struct MirrorCommandTests {
  private let tool: Tool
  private let mirror: Nginx
  private let certificate: String

  init() throws {
    tool = try Tool.withStore()
    try Self.publish(tool, "1.0")
    mirror = try Nginx(serving: tool.folder.path("store"))
    certificate = tool.folder.path("certificate.pem")
  }

  private static func publish(_ tool: Tool, _ version: String) throws {
    let package = try tool.makePackage(
      "com.example.a", version, ["text": Data("Text \(version)\n".utf8)])
    #expect(try tool.run("store", "publish", "store", package).status == 0)
  }

  /// A first server with a specific failure.
  enum FirstServer: String, CaseIterable {
    case missing = "location / { return 404; }"
    case denied = "location / { return 401; }"
    case loop = "location / { return 302 $uri; }"
    case page = "location / { try_files /page.html =404; }"
    case recordMissing = "location ~ ^/targets/.*json$ { return 404; }"
    case timestampMissing = "location /metadata/timestamp.json { return 404; }"
    case failing = "location / { return 500; }"
    case otherStore = "root other;"
    case toPlainHTTP = "location / { return 302 http://127.0.0.1:1$uri; }"
    case expiredCertificate = "location / {}"

    var certificate: TestCertificate? {
      switch self {
      case .toPlainHTTP: .right
      case .expiredCertificate: .expired
      default: nil
      }
    }
  }

  private func start(_ server: FirstServer) throws -> (nginx: Nginx, url: String) {
    let root = tool.folder.path("store")
    if server == .otherStore {
      #expect(try tool.run("store", "init", "other").status == 0)
      let nginx = try Nginx(serving: tool.folder.path("other"))
      return (nginx, nginx.url())
    }
    guard let certificate = server.certificate else {
      try Data("<html>Log in".utf8).write(to: URL(filePath: "\(root)/page.html"))
      let nginx = try Nginx(serving: root, directives: server.rawValue)
      return (nginx, nginx.url())
    }
    let paths = try certificate.write(to: tool.folder)
    let nginx = try Nginx(
      serving: root, listen: "ssl",
      directives:
        "ssl_certificate \(paths.chain); ssl_certificate_key \(paths.key); \(server.rawValue)")
    return (nginx, "https://127.0.0.1:\(nginx.port)/")
  }

  private func words(_ url: String) -> [String] {
    let authorities = url.hasPrefix("https") ? ["--ca", certificate] : []
    return [
      "--store", url, "--mirror", mirror.url(), "--root", "store/metadata/1.root.json",
    ] + authorities
  }

  @Test(
    "The mirror is used for every failure of the first server", .slow,
    arguments: FirstServer.allCases)
  func takesOver(server: FirstServer) throws {
    let (nginx, url) = try start(server)
    let result = try tool.run(["get", "com.example.a", "--library", "lib"] + words(url))
    #expect(result.status == 0, "\(result.errors)")
    #expect(server == .expiredCertificate || !nginx.requests().isEmpty)
    #expect(try tool.text("lib/products/com.example.a/current/Contents/text") == "Text 1.0\n")
    // A list of all products reads the file with their records.
    let products = try tool.run(["products"] + words(url))
    #expect(products.status == 0 && products.output.contains("com.example.a"))
  }

  @Test("A store is not found if no server has it, otherwise the other server's error is reported")
  func notFound() throws {
    let (first, _) = try start(.missing)
    let (second, _) = try start(.denied)
    func get(_ url: String, _ mirror: String) throws -> Tool.Result {
      try tool.run(
        "get", "com.example.a", "--library", "lib", "--store", url, "--mirror", mirror, "--root",
        "store/metadata/1.root.json")
    }
    let missing = try get(first.url(), first.url("/x/"))
    #expect(missing.status == 1)
    #expect(missing.errors.contains("has no metadata/timestamp.json"), "\(missing.errors)")
    for (url, other) in [(first, second), (second, first)] {
      let denied = try get(url.url(), other.url())
      #expect(denied.status == 1)
      #expect(denied.errors.contains("401"), "\(denied.errors)")
    }
  }

  @Test("A mirror with a newer publication is used if the first server has an expired one", .slow)
  func newRoot() throws {
    // The first server has the publication before the key rotation, without its timestamp.
    let old = tool.folder.path("old")
    try FileManager.default.copyItem(atPath: tool.folder.path("store"), toPath: old)
    #expect(try tool.run("store", "rotate", "store", "timestamp").status == 0)
    try Self.publish(tool, "1.1")
    let first = try Nginx(
      serving: old, directives: "location /metadata/timestamp.json { return 404; }")
    let result = try tool.run(["get", "com.example.a", "--library", "lib"] + words(first.url()))
    #expect(result.status == 0, "\(result.errors)")
    #expect(try tool.text("lib/products/com.example.a/current/Contents/text") == "Text 1.1\n")
  }

  @Test("products, updates and repair use the mirror like get", .slow)
  func otherCommands() throws {
    let (first, url) = try start(.missing)
    defer { withExtendedLifetime(first) {} }
    let words = words(url)
    #expect(try tool.run(["get", "com.example.a", "--library", "lib"] + words).status == 0)
    let products = try tool.run(["products"] + words)
    #expect(products.status == 0, "\(products.errors)")
    #expect(products.output.contains("com.example.a"))
    let path = tool.folder.path("lib/products/com.example.a/current/Contents/text")
    #expect(chmod(path, 0o644) == 0)
    try Data("Damage\n".utf8).write(to: URL(filePath: path))
    let repair = try tool.run(["repair", "--library", "lib"] + words)
    #expect(repair.status == 0, "\(repair.errors)")
    #expect(try tool.text("lib/products/com.example.a/current/Contents/text") == "Text 1.0\n")
    try Self.publish(tool, "1.1")
    let updates = try tool.run(["updates", "--library", "lib"] + words)
    #expect(updates.status == 0, "\(updates.errors)")
    #expect(updates.output.contains("1.1"))
  }
}
