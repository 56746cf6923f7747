import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Commands that read a store use the root and the versions in the library.
@Suite("The trusted metadata of a library", .timeLimit(.hang))
struct TrustedLibraryCommandTests {
  private let tool: Tool
  private let server: FileServer

  init() throws {
    tool = try Tool.withStore()
    try Self.publish("1.0", tool)
    server = try tool.serveStore()
    try tool.succeed(
      "get", "com.example.a", "--store", server.url, "--root", "store/metadata/1.root.json",
      "--library", "lib")
  }

  private static func publish(_ version: String, _ tool: Tool) throws {
    let package = try tool.makePackage("com.example.a", version, ["text": Data(version.utf8)])
    try tool.succeed("store", "publish", "store", package)
  }

  /// The commands that read the store with the library.
  private static let commands = [["updates"], ["products"], ["get", "com.example.a"]]

  private func run(_ command: [String], _ more: [String] = []) throws -> Tool.Result {
    try tool.run(command + ["--store", server.url, "--library", "lib"] + more)
  }

  /// All files of `lib/trust` with their bytes.
  private func recorded() throws -> [String: Data] { try tool.tree("lib/trust") }

  @Test("A store that the library trusts does not need --root again", .slow)
  func rootOnce() throws {
    try Self.publish("1.1", tool)
    let before = try recorded()
    for command in ["updates", "products"] {
      let result = try run([command])
      #expect(result.status == 0, "\(command): \(result.errors)")
      #expect(result.output.contains("1.1"), "\(command): \(result.output)")
    }
    // These commands only compare with the recorded versions. The next get records the newer ones.
    #expect(try recorded() == before)
    #expect(try run(["get", "com.example.a"]).status == 0)
    #expect(try recorded() != before)
  }

  @Test("The file of --root may be a symbolic link", .slow)
  func linkedRoot() throws {
    try FileManager.default.createSymbolicLink(
      atPath: tool.folder.path("root.json"), withDestinationPath: "store/metadata/1.root.json")
    let result = try tool.run([
      "products", "--store", server.url, "--root", "root.json",
    ])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("com.example.a"))
  }

  @Test("A store that was rolled back is refused by every command", .slow)
  func rolledBack() throws {
    let old = tool.folder.path("old")
    try FileManager.default.copyItem(atPath: tool.folder.path("store/metadata"), toPath: old)
    try Self.publish("1.1", tool)
    #expect(try run(["get", "com.example.a"]).status == 0)
    try FileManager.default.removeItem(atPath: tool.folder.path("store/metadata"))
    try FileManager.default.moveItem(atPath: old, toPath: tool.folder.path("store/metadata"))
    for command in Self.commands {
      for root in [[], ["--root", "store/metadata/1.root.json"]] {
        let result = try run(command, root)
        #expect(result.status == 1, "\(command): \(result.output)")
        #expect(result.errors.contains("[503]"), "\(command): \(result.errors)")
      }
    }
  }

  @Test(
    "A root of another store is refused by every command, and the message names the library", .slow)
  func otherRoot() throws {
    try tool.succeed("store", "init", "other")
    for command in Self.commands {
      let result = try run(command, ["--root", "other/metadata/1.root.json"])
      #expect(result.status == 1, "\(command): \(result.output)")
      #expect(result.errors.contains("[509]"), "\(command): \(result.errors)")
      #expect(result.errors.contains("lib/trust"), "\(command): \(result.errors)")
    }
  }
}
