import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The commands that read a store, with web servers of other projects.
@Suite(
  "A store on servers of other projects",
  .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)), .timeLimit(.hang))
struct OtherServerTests {
  private let tool: Tool

  init() throws {
    tool = try Tool.withStore()
    try publish("1.0")
  }

  private func publish(_ version: String) throws {
    let package = try tool.makePackage("com.example.a", version, ["text": Data("A text\n".utf8)])
    #expect(try tool.run("store", "publish", "store", package).status == 0)
  }

  private func nginx(_ directives: String) throws -> Nginx {
    try Nginx(serving: tool.folder.path("store"), directives: directives)
  }

  private func get(_ server: Nginx) throws -> Tool.Result {
    try withExtendedLifetime(server) { try get(server.url()) }
  }

  private func get(_ url: String) throws -> Tool.Result {
    try tool.run(
      "get", "com.example.a", "--library", "lib", "--store", url, "--root",
      "store/metadata/1.root.json")
  }

  // MARK: Error pages

  /// Writes a page that is longer than any metadata.
  private func writeLongPage() throws {
    let page = "<html>" + String(repeating: "No such file. ", count: 100_000)
    try Data(page.utf8).write(to: URL(filePath: tool.folder.path("store/page.html")))
  }

  @Test("The chain of roots ends with a 404 and an error page of any length")
  func longPage() throws {
    try writeLongPage()
    let result = try get(nginx("error_page 404 /page.html;"))
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test("A missing or denied file is reported as missing", arguments: [404, 403])
  func deniedFile(status: Int) throws {
    try writeLongPage()
    // Without the file of all records, each record is read alone.
    let server = try nginx(
      "error_page \(status) /page.html; location ~ (product.json|jsonl)$ { return \(status); }")
    let result = try tool.run(
      "products", "--store", server.url(), "--root", "store/metadata/1.root.json")
    #expect(result.status == 1)
    #expect(result.errors.contains("has no targets/"), "\(result.errors)")
    #expect(!result.errors.contains("do not use the store"))
  }

  @Test("A host that answers 200 for missing files is distinguished from damaged metadata", .slow)
  func pageForMissingFiles() throws {
    try writeLongPage()
    try Data("<!DOCTYPE html>\n<title>Log in</title>".utf8)
      .write(to: URL(filePath: tool.folder.path("store/short.html")))
    for page in ["page.html", "short.html"] {
      let result = try get(nginx("location / { try_files $uri /\(page); }"))
      #expect(result.status == 1)
      #expect(result.errors.contains("metadata/2.root.json"), "\(result.errors)")
      #expect(result.errors.contains("web page"), "\(result.errors)")
      #expect(!result.errors.contains("damaged") && !result.errors.contains("do not use the store"))
    }
  }

  // MARK: Types

  @Test("Correct bytes are accepted with any content type: nginx")
  func textOfNginx() throws {
    let result = try get(nginx("types {} default_type text/html;"))
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test(
    "Correct bytes are accepted with any content type: busybox",
    .enabled(if: BusyboxServer.isInstalled, Comment(rawValue: BusyboxServer.reason)))
  func textOfBusybox() throws {
    let server = try BusyboxServer(serving: tool.folder.path("store"))
    let result = try withExtendedLifetime(server) { try get(server.url) }
    #expect(result.status == 0, "\(result.errors)")
  }

  // MARK: Caches

  @Test(
    "A publication and a new root are visible behind a caching proxy", .slow,
    .enabled(if: Squid.isInstalled, Comment(rawValue: Squid.reason)))
  func cachingProxy() throws {
    // Old enough that a cache would keep it for days.
    let old = Date(timeIntervalSinceNow: -30 * 86_400)
    let metadata = tool.folder.path("store/metadata")
    for name in try FileManager.default.contentsOfDirectory(atPath: metadata) {
      try FileManager.default.setAttributes(
        [.modificationDate: old], ofItemAtPath: "\(metadata)/\(name)")
    }
    let (server, proxy) = (try nginx(""), try Squid())
    func products() throws -> Tool.Result {
      try tool.run(
        "products", "--store", server.url(), "--root", "store/metadata/1.root.json", "--proxy",
        proxy.url)
    }
    #expect(try products().output.contains("1.0"))
    #expect(try tool.run("store", "rotate", "store", "timestamp").status == 0)
    try publish("1.1")
    let result = try products()
    #expect(result.output.contains("1.1"), "\(result.errors)")
    let timestamps = server.requests().filter { $0.contains("timestamp.json") }
    #expect(timestamps.count == 2)
  }
}
