import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// `store repair` after the files of a store's metadata were mixed up or lost.
@Suite("Repaired stores")
struct StoreRepairTests {
  private let tool: Tool

  init() throws {
    tool = try Tool.withStore()
    for product in ["a", "b", "c"] { try tool.succeed("store", "add", "store", product) }
    try client("init", tool.folder.path("store/metadata/1.root.json"))
    try client("refresh")
  }

  /// Runs a client that has trusted the store before.
  ///
  /// It must succeed.
  private func client(_ words: String...) throws {
    let result = try tool.run(
      [
        "--metadata-dir", "trusted", "--metadata-url",
        "file://\(tool.folder.path("store/metadata"))",
      ] + words, program: Tool.program("tuf-client"))
    #expect(result.status == 0, "\(result.errors)")
  }

  private func replace(_ name: String, with other: String?) throws {
    let path = tool.folder.path("store/metadata/\(name)")
    try FileManager.default.removeItem(atPath: path)
    guard let other else { return }
    try FileManager.default.copyItem(
      atPath: tool.folder.path("store/metadata/\(other)"), toPath: path)
  }

  private var products: String {
    get throws { try tool.succeed("products", "--store", "store").output }
  }

  @Test(
    "A store with inconsistent targets or snapshot is repaired, and clients accept it", .slow,
    arguments: [
      ("4.targets.json", "3.targets.json"), ("4.targets.json", nil), ("4.snapshot.json", nil),
      ("4.snapshot.json", "2.snapshot.json"),
    ])
  func mixed(name: String, other: String?) throws {
    try replace(name, with: other)
    for command in [["add", "store", "d"], ["refresh", "store"], ["list", "store"]] {
      let result = try tool.run(["store"] + command)
      #expect(result.status == 1)
      #expect(result.errors.contains("store repair"), "\(result.errors)")
    }
    let result = try tool.succeed("store", "repair", "store")
    #expect(result.output.contains("version 3"), "\(result.output)")
    #expect(try tool.succeed("store", "list", "store").output.contains("b "))
    #expect(try !products.contains("c "))
    try client("refresh")
    try tool.succeed("store", "add", "store", "c")
    #expect(try products.contains("c "))
    try client("refresh")
  }

  @Test(
    "A lost or foreign timestamp is written again from the newest snapshot", .slow,
    arguments: [nil, "2.snapshot.json"])
  func timestamp(other: String?) throws {
    try replace("timestamp.json", with: other)
    try tool.fail("store", "add", "store", "d", saying: ["store repair"])
    let result = try tool.succeed("store", "repair", "store")
    #expect(result.output.contains("version 4"), "\(result.output)")
    #expect(try products.contains("c "))
    try client("refresh")
    try tool.succeed("store", "add", "store", "d")
  }

  @Test("A consistent store is not changed, and an older store is not treated as damaged")
  func consistent() throws {
    let timestamp = try tool.text("store/metadata/timestamp.json")
    #expect(try tool.succeed("store", "repair", "store").output.contains("nothing to repair"))
    #expect(try tool.text("store/metadata/timestamp.json") == timestamp)
    try FileManager.default.copyItem(
      atPath: tool.folder.path("store/metadata"), toPath: tool.folder.path("backup"))
    try tool.succeed("store", "add", "store", "d")
    try FileManager.default.removeItem(atPath: tool.folder.path("store/metadata"))
    try FileManager.default.copyItem(
      atPath: tool.folder.path("backup"), toPath: tool.folder.path("store/metadata"))
    try tool.fail("store", "repair", "store", saying: ["--restored"])
  }

  @Test("A repair does not continue from metadata that an attacker planted", .slow)
  func planted() throws {
    try tool.succeed("store", "init", "evil")
    for number in 1...6 { try tool.succeed("store", "add", "evil", "evil\(number)") }
    for role in ["targets", "snapshot"] {
      try FileManager.default.copyItem(
        atPath: tool.folder.path("evil/metadata/7.\(role).json"),
        toPath: tool.folder.path("store/metadata/7.\(role).json"))
    }
    try replace("timestamp.json", with: nil)
    try tool.succeed("store", "repair", "store")
    let list = try tool.succeed("store", "list", "store").output
    #expect(list.contains("c ") && !list.contains("evil"))
    #expect(tool.exists("store/metadata/5.targets.json"))
  }
}
