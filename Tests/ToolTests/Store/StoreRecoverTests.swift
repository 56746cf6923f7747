import HostedModel
import ContentStore
import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// `store recover` after the store and its publication record were restored from a backup.
///
/// `served` is the host's copy of the newest store.
@Suite("The command store recover", .timeLimit(.hang))
struct StoreRecoverTests {
  private let tool: Tool
  private let server: FileServer

  /// Creates a store, a host and a client that have seen version 1.10, and a backup with 1.0.
  init() throws {
    tool = try Tool.withStore()
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.0.pkg"))
    for name in ["store", "store.keys"] { try Self.copy(name, to: "backup-\(name)", in: tool) }
    for version in ["1.1", "1.10"] {
      try tool.succeed("store", "publish", "store", Tool.sample("chapter1-\(version).pkg"))
    }
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    try Self.copy("store", to: "served", in: tool)
    server = try Self.serving("served", of: tool)
    for name in ["store", "store.keys"] { try Self.copy("backup-\(name)", to: name, in: tool) }
  }

  private static func serving(_ name: String, of tool: Tool) throws -> FileServer {
    let server = try FileServer(folder: tool.folder.path(name))
    try server.start()
    return server
  }

  private static func copy(_ name: String, to other: String, in tool: Tool) throws {
    try? FileManager.default.removeItem(atPath: tool.folder.path(other))
    try FileManager.default.copyItem(
      atPath: tool.folder.path(name), toPath: tool.folder.path(other))
  }

  /// Runs `get` for the client, which must succeed or fail because of old metadata.
  private func expectClient(accepts: Bool, _ location: SourceLocation = #_sourceLocation) throws {
    let result = try tool.run("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(result.status == (accepts ? 0 : 1), "\(result.errors)", sourceLocation: location)
    guard !accepts else { return }
    #expect(result.errors.contains("[503]"), "\(result.errors)", sourceLocation: location)
  }

  /// Runs the command, which must fail and change nothing.
  private func expectRefusal(
    at other: FileServer? = nil, saying texts: [String],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try tool.tree("store")
    let record = try tool.text("store.keys/published.json")
    try tool.fail(
      ["store", "recover", "store", "--at", (other ?? server).url], saying: texts,
      location: location)
    #expect(try tool.tree("store") == before, sourceLocation: location)
    #expect(try tool.text("store.keys/published.json") == record, sourceLocation: location)
  }

  private func served(_ name: String) -> String { "served/metadata/\(name)" }

  // MARK: The host

  @Test("It signs above what the host has, and the client follows", .slow)
  func host() throws {
    try expectClient(accepts: false)
    let result = try tool.succeed("store", "recover", "store", "--at", server.url)
    #expect(
      result.output == """
        store: \(server.url) has timestamp 4, snapshot 4, targets 4
        store: signed timestamp 5, snapshot 5, targets 5

        """)
    #expect(result.errors.hasPrefix("Publish again "))
    try expectClient(accepts: true)
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.10.pkg"))
    try tool.succeed("store", "rotate", "store", "timestamp", "targets")
    try expectClient(accepts: true)
  }

  @Test("Expired metadata of the host counts", .slow)
  func expired() throws {
    let old = Date().addingTimeInterval(-400 * 86_400)
    let store = try StoreFolder.create(at: URL(filePath: tool.folder.path("old")), now: old)
    for name in ["old", "old.keys"] { try Self.copy(name, to: "backup-\(name)", in: tool) }
    try store.add("com.example.a", now: old)
    try Self.copy("old", to: "served-old", in: tool)
    let host = try Self.serving("served-old", of: tool)
    for name in ["old", "old.keys"] { try Self.copy("backup-\(name)", to: name, in: tool) }
    let result = try tool.succeed("store", "recover", "old", "--at", host.url)
    #expect(result.output.contains("signed timestamp 3, snapshot 3, targets 3"))
  }

  @Test("A folder with a copy of the served files is a host too", .slow)
  func folder() throws {
    try tool.succeed("store", "recover", "store", "--at", "served")
    try expectClient(accepts: true)
  }

  @Test("The higher of the host's and the given numbers count", .slow)
  func both() throws {
    let result = try tool.succeed(
      "store", "recover", "store", "--at", server.url, "--seen-timestamp", "90",
      "--seen-targets", "1")
    #expect(result.output.hasSuffix("signed timestamp 91, snapshot 5, targets 5\n"))
    try expectClient(accepts: true)
  }

  // MARK: Numbers

  @Test(
    "Numbers of the operator suffice, and one is enough", .slow,
    arguments: [["--seen-timestamp", "4"], ["--seen-snapshot", "40", "--seen-targets", "4"]])
  func numbers(words: [String]) throws {
    let result = try tool.run(["store", "recover", "store"] + words)
    #expect(result.status == 0, "\(result.errors)")
    try expectClient(accepts: true)
  }

  @Test("Without host and numbers, it signs above the recorded numbers", .slow)
  func recorded() throws {
    let result = try tool.succeed("store", "recover", "store")
    #expect(result.output == "store: signed timestamp 3, snapshot 3, targets 3\n")
    try expectClient(accepts: false)
  }

  @Test("A number that cannot be followed is wrong usage")
  func impossible() throws {
    try tool.fail(
      "store", "recover", "store", "--seen-timestamp", "9223372036854775806", status: 2,
      saying: ["timestamp"])
  }

  // MARK: Hosts that lie

  @Test("A changed number is not signed")
  func unsigned() throws {
    let text = try tool.text(served("timestamp.json"))
    let changed = text.replacing("\"version\":4", with: "\"version\":4000")
    #expect(changed != text)
    try tool.write(changed, to: served("timestamp.json"))
    try expectRefusal(saying: ["metadata/timestamp.json", server.url, "[501]"])
  }

  @Test("Metadata of another store is refused", .slow)
  func foreign() throws {
    try tool.succeed("store", "init", "other")
    try tool.succeed("store", "add", "other", "com.example.evil")
    let host = try Self.serving("other", of: tool)
    try expectRefusal(at: host, saying: ["metadata/timestamp.json", "[501]"])
  }

  @Test("A snapshot that the timestamp does not name, and a missing one, are refused", .slow)
  func snapshot() throws {
    try Self.copy(served("3.snapshot.json"), to: served("4.snapshot.json"), in: tool)
    try expectRefusal(saying: ["metadata/4.snapshot.json"])
    try FileManager.default.removeItem(atPath: tool.folder.path(served("4.snapshot.json")))
    try expectRefusal(saying: ["does not have metadata/4.snapshot.json"])
  }

  @Test("A root that the store's keys have not signed is refused", .slow)
  func foreignRoot() throws {
    try tool.succeed("store", "init", "other")
    try tool.succeed("store", "rotate", "other", "timestamp")
    try Self.copy("other/metadata/2.root.json", to: served("2.root.json"), in: tool)
    try expectRefusal(saying: ["metadata/2.root.json", "[501]"])
  }

  @Test("Older metadata than that of the store is refused, such as before the upload", .slow)
  func older() throws {
    try tool.succeed("store", "recover", "store", "--at", server.url)
    try expectRefusal(
      saying: ["has version 4 of the timestamp metadata, but the store has version 5"])
  }

  // MARK: Later roots

  @Test("A later root of the host is named, not copied; with it and its keys, it works", .slow)
  func laterRoot() throws {
    // The keys were rotated after the backup.
    for name in ["store", "store.keys"] { try Self.copy(name, to: "early-\(name)", in: tool) }
    try Self.copy("served", to: "store", in: tool)
    try tool.succeed("store", "rotate", "store", "timestamp", "snapshot")
    try tool.succeed("store", "rotate", "store", "targets")
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    try Self.copy("store.keys", to: "late.keys", in: tool)
    try Self.copy("store", to: "late", in: tool)
    let host = try Self.serving("late", of: tool)
    for name in ["store", "store.keys"] { try Self.copy("early-\(name)", to: name, in: tool) }

    try expectRefusal(
      at: host,
      saying: ["metadata/2.root.json, metadata/3.root.json", "copy these files", "keys of that"])
    for name in ["2.root.json", "3.root.json"] {
      try Self.copy("late/metadata/\(name)", to: "store/metadata/\(name)", in: tool)
    }
    // The backup's keys cannot sign under the new root.
    try tool.fail("store", "recover", "store", "--at", host.url, saying: ["[507]"])
    let record = try tool.text("store.keys/published.json")
    try Self.copy("late.keys", to: "store.keys", in: tool)
    try tool.write(record, to: "store.keys/published.json")
    try tool.succeed("store", "recover", "store", "--at", host.url)
    try expectClient(accepts: true)
  }
}
