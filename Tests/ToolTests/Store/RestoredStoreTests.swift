import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The behavior of `store` commands if the store's files are not the newest.
@Suite("Restored stores")
struct RestoredStoreTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  private func copy(_ name: String, to other: String) throws {
    try? FileManager.default.removeItem(atPath: tool.folder.path(other))
    try FileManager.default.copyItem(
      atPath: tool.folder.path(name), toPath: tool.folder.path(other))
  }

  @Test("An old timestamp is refused, --restored continues from it, and a client follows", .slow)
  func restored() throws {
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "add", "store", "com.example.a")
    try copy("store/metadata/timestamp.json", to: "old.json")
    try tool.succeed("store", "add", "store", "com.example.b")
    let browse = ["products", "--store", "store", "--root", "store/metadata/1.root.json"]
    try #require(tool.run(browse).output.contains("com.example.b"))
    try copy("old.json", to: "store/metadata/timestamp.json")

    let commands = [
      ["store", "add", "store", "com.example.c"], ["store", "refresh", "store"],
      ["store", "list", "store"],
    ]
    for command in commands {
      let result = try tool.run(command)
      #expect(result.status == 1)
      for text in ["store/metadata/timestamp.json", "version 2", "version 3", "--restored"] {
        #expect(result.errors.contains(text), "\(result.errors)")
      }
    }
    let list = try tool.succeed("store", "list", "store", "--restored")
    #expect(!list.output.contains("com.example.b"))
    try tool.succeed("store", "add", "store", "com.example.c", "--restored")
    let timestamp = try #require(
      JSONSerialization.jsonObject(with: Data(tool.text("store/metadata/timestamp.json").utf8))
        as? [String: Any])
    #expect((timestamp["signed"] as? [String: Any])?["version"] as? Int == 4)
    try tool.succeed("store", "add", "store", "com.example.d")
    #expect(try tool.run(browse).output.contains("com.example.d"))
  }

  /// Runs `get` for a client that has seen each publication.
  private func get() throws -> Tool.Result {
    try tool.run("get", Tool.chapter1, "--store", "store", "--library", "lib")
  }

  private func timestampVersion() throws -> Int {
    let timestamp = try #require(
      JSONSerialization.jsonObject(with: Data(tool.text("store/metadata/timestamp.json").utf8))
        as? [String: Any])
    return try #require((timestamp["signed"] as? [String: Any])?["version"] as? Int)
  }

  /// Creates a store and a client that has seen a later state than its backup.
  private func prepareBackup() throws {
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.0.pkg"))
    try copy("store", to: "backup")
    try copy("store.keys", to: "backup.keys")
    for version in ["1.1", "1.10"] {
      try tool.succeed("store", "publish", "store", Tool.sample("chapter1-\(version).pkg"))
    }
    #expect(try get().status == 0)
    try copy("backup", to: "store")
  }

  @Test("Clients refuse a store from a backup until refresh --restored", .slow)
  func client() throws {
    try prepareBackup()
    let refused = try get()
    #expect(refused.status == 1 && refused.errors.contains("[503]"), "\(refused.errors)")
    try tool.fail("store", "refresh", "store", saying: ["--restored"])
    #expect(try get().status == 1)
    try tool.succeed("store", "refresh", "store", "--restored")
    #expect(try get().status == 0)
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.10.pkg"))
    #expect(try get().status == 0)
    #expect(try tool.current() == [Tool.chapter1: "1.10"])
  }

  @Test(
    "If the record is from the backup too, clients accept it after enough refresh --everything",
    .slow)
  func clientWithoutRecord() throws {
    try prepareBackup()
    try copy("backup.keys", to: "store.keys")
    try tool.succeed("store", "refresh", "store", "--restored")
    let refused = try get()
    #expect(refused.status == 1)
    // The message has the client's version.
    let numbers = try #require(
      refused.errors.firstMatch(
        of: /Version (\d+) of the timestamp metadata is older than version (\d+)/))
    let known = try #require(Int(numbers.output.2))
    #expect(Int(numbers.output.1) == (try timestampVersion()))
    while try timestampVersion() <= known {
      let before = try timestampVersion()
      try tool.succeed("store", "refresh", "store", "--everything")
      #expect(try timestampVersion() == before + 1)
    }
    #expect(try get().status == 0)
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.10.pkg"))
    #expect(try get().status == 0)
  }

  @Test("--state keeps the record in another folder, for list too")
  func state() throws {
    let state = ["--state", "state"]
    #expect(try tool.run(["store", "init", "store"] + state).status == 0)
    try copy("store/metadata/timestamp.json", to: "old.json")
    #expect(try tool.run(["store", "add", "store", "com.example.a"] + state).status == 0)
    #expect(tool.exists("state/published.json"))
    #expect(!tool.exists("store.keys/published.json"))
    try copy("old.json", to: "store/metadata/timestamp.json")
    for command in [["add", "store", "com.example.b"], ["list", "store"]] {
      let result = try tool.run(["store"] + command + state)
      #expect(result.status == 1)
      #expect(result.errors.contains("--restored"), "\(result.errors)")
    }
    try tool.fail(
      "store", "add", "store", "com.example.b", "--state", "store/state", status: 2,
      saying: ["store/state"])
  }

  @Test("A foreign root is reported")
  func plantedRoot() throws {
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "init", "other")
    try tool.succeed("store", "rotate", "other", "timestamp")
    try copy("other/metadata/2.root.json", to: "store/metadata/2.root.json")
    try tool.fail(
      "store", "add", "store", "com.example.a",
      saying: ["store/metadata/2.root.json", "remove the file"])
    try tool.fail("store", "list", "store", saying: ["store/metadata/2.root.json"])
    try FileManager.default.removeItem(atPath: tool.folder.path("store/metadata/2.root.json"))
    try tool.succeed("store", "add", "store", "com.example.a")
  }
}
