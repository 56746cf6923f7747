import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs the blocks of Documentation/Backup.md unchanged.
@Suite("The guide to backups", .timeLimit(.hang))
struct BackupGuideTests {
  private let tool: Tool
  private let page: DocumentPage

  /// Creates a store and a client, follows the first block, and changes the store twice.
  init() throws {
    (tool, page) = (try Tool(), try DocumentPage("Documentation/Backup.md"))
    for name in ["chapter1/Contents", "backup", "safe"] {
      try FileManager.default.createDirectory(
        atPath: tool.folder.path(name), withIntermediateDirectories: true)
    }
    try tool.write("Once upon a time\n", to: "chapter1/Contents/page-1.txt")
    try tool.succeed(
      "package", "chapter1", "--output", "chapter1.pkg", "--product", "com.example.chapter1",
      "--content-version", "1.0")
    try tool.succeed("store", "init", "store")
    let root = tool.folder.path("store/metadata/1.root.json")
    let result = try tool.run(
      ["--metadata-dir", "trusted", "init", root], program: Tool.program("tuf-client"))
    try #require(result.status == 0)
    try follow("store publish ")
    for product in ["com.example.a", "com.example.b"] {
      try tool.succeed("store", "add", "store", product)
    }
    try #require(try believes())
  }

  /// Whether a client that has seen all changes accepts the store.
  private func believes() throws -> Bool {
    try tool.run(
      [
        "--metadata-dir", "trusted", "--metadata-url",
        "file://\(tool.folder.path("store/metadata"))", "refresh",
      ], program: Tool.program("tuf-client")
    ).status == 0
  }

  private static let address = "https://content.example.com/"

  /// Runs the block with the text `command`, and returns its output.
  @discardableResult
  private func follow(_ command: String, host: String = address) throws -> String {
    let found = page.blocks(in: "sh").filter { $0.text.contains(command) }
    try #require(found.count == 1, "\(command)")
    let result = try tool.follow(found[0].text.replacing(Self.address, with: host))
    #expect(result.status == 0, "\(command): \(result.errors)")
    return result.output
  }

  @Test("A test runs each block")
  func complete() throws {
    #expect(page.blocks.count == 5)
    #expect(page.blocks.allSatisfy { $0.language == "sh" })
  }

  @Test("The backup is complete", .slow)
  func verify() throws {
    #expect(try follow("store verify ").hasSuffix(", 0 differences\n"))
  }

  @Test("Restored files are signed again, and clients accept them", .slow)
  func files() throws {
    try follow("--restored")
    #expect(try believes())
    try tool.succeed("store", "add", "store", "com.example.c")
    #expect(try believes())
  }

  @Test("Restored files and record are signed above what a host has", .slow)
  func host() throws {
    try FileManager.default.copyItem(
      atPath: tool.folder.path("store"), toPath: tool.folder.path("served"))
    let server = try FileServer(folder: tool.folder.path("served"))
    try server.start()
    defer { server.stop() }
    let output = try follow("--at ", host: server.url)
    #expect(output.contains("has timestamp 4, snapshot 4, targets 4\n"), "\(output)")
    #expect(output.contains("signed timestamp 5, snapshot 5, targets 5\n"), "\(output)")
    #expect(output.contains("com.example.chapter1") && !output.contains("com.example.a"))
    #expect(try believes())
    try tool.succeed("store", "publish", "store", "chapter1.pkg")
  }

  @Test("Restored files and record are signed above the number of a client's error", .slow)
  func number() throws {
    for (name, backup) in [("store", "backup/store"), ("store.keys", "safe/store.keys")] {
      try FileManager.default.removeItem(atPath: tool.folder.path(name))
      try FileManager.default.copyItem(
        atPath: tool.folder.path(backup), toPath: tool.folder.path(name))
    }
    #expect(try !believes())
    try follow("--seen-timestamp ")
    #expect(try believes())
  }
}
