import HostedModel
import ContentStore
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// `store status`, `store verify` and `store prune`.
@Suite("Maintenance of stores", .timeLimit(.hang))
struct StoreMaintenanceTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  private func paths(_ folder: String) throws -> [String] {
    try tool.tree(folder).keys.sorted()
  }

  private func archive(_ version: String) throws -> String {
    let folder = "store/targets/\(Tool.chapter1)/\(version)"
    let name = try #require(paths(folder).first { $0.hasSuffix(".content.pkg") })
    return "\(folder)/\(name)"
  }

  /// Creates a store with version 1.0 of a chapter, which was retired 90 days ago, and version 1.1.
  private func makeOldStore() throws {
    let old = Date().addingTimeInterval(-100 * 86_400)
    let path = tool.folder.path("store")
    let store = try StoreFolder.create(at: URL(filePath: path), now: old)
    for version in ["1.0", "1.1"] {
      let package = URL(filePath: Tool.sample("chapter1-\(version).pkg"))
      try store.publish([package], now: old)
    }
    try store.retire(
      ProductIdentifier(validating: Tool.chapter1), version: ContentVersion("1.0"),
      now: old.addingTimeInterval(10 * 86_400))
    for file in try FileManager.default.subpathsOfDirectory(atPath: path) {
      try FileManager.default.setAttributes(
        [.modificationDate: old], ofItemAtPath: "\(path)/\(file)")
    }
    try store.refresh(everything: true)
  }

  // MARK: Status

  @Test("The status of a new store has products, roles, keys and sizes, and succeeds")
  func status() throws {
    let tool = try Tool.withCourse()
    let result = try tool.succeed("store", "status", "store")
    for text in [
      "\(Tool.chapter1)  ", "course.audio", "\(Tool.club) ", "no content", "\ntimestamp  ",
      "1 of 1 present, 1 required", "a refresh renews now: nothing", "publication record: current",
      "archives: ", "indexes: ", "all files of metadata: ", "can be pruned: 0 files, 0 bytes",
    ] { #expect(result.output.contains(text), "\(text): \(result.output)") }
    #expect(result.errors == "")
    let json = try tool.succeed("store", "status", "store", "--json").json()
    #expect((json["products"] as? [Any])?.count == 3)
    let roles = try #require(json["roles"] as? [[String: Any]])
    #expect(roles.map { $0["role"] as? String } == ["root", "targets", "snapshot", "timestamp"])
    #expect(json["record"] as? String == "current")
    #expect(json["prunableFiles"] as? Int == 0 && json["prunableBytes"] as? Int == 0)
    #expect((json["attention"] as? [Any])?.isEmpty == true)
  }

  @Test("Without keys, the status succeeds, and names the missing keys")
  func statusWithoutKeys() throws {
    let tool = try Tool.withBook()
    try FileManager.default.removeItem(atPath: tool.folder.path("store.keys"))
    let result = try tool.succeed("store", "status", "store")
    #expect(result.output.contains("0 of 1 present, 1 required"))
    for role in ["root", "targets", "snapshot", "timestamp"] {
      #expect(result.output.contains("\nmissing \(role) key: "), "\(result.output)")
    }
    #expect(result.output.contains("publication record: unavailable"))
  }

  @Test("The status fails if a file is missing or the store is older than its record")
  func statusFails() throws {
    try tool.succeed("store", "init", "store")
    let old = try tool.text("store/metadata/timestamp.json")
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.0.pkg"))
    let archive = try archive("1.0")
    try FileManager.default.removeItem(atPath: tool.folder.path(archive))
    let missing = try tool.fail("store", "status", "store", saying: [archive, "[203]"])
    #expect(missing.output.contains("missing: \(archive.dropFirst("store/".count))"))
    try tool.write(old, to: "store/metadata/timestamp.json")
    let older = try tool.fail("store", "status", "store", "--json", saying: ["--restored"])
    #expect(try older.json()["record"] as? String == "newer")
    #expect((try older.json()["attention"] as? [Any])?.count == 1)
  }

  @Test("The status fails with the command that helps if a refresh is due")
  func statusDue() throws {
    let old = Date().addingTimeInterval(-100 * 86_400)
    _ = try StoreFolder.create(at: URL(filePath: tool.folder.path("store")), now: old)
    let due = try tool.fail(
      "store", "status", "store",
      saying: ["The timestamp metadata expired at ", "(hostedcontent store refresh STORE)"])
    #expect(due.output.contains("a refresh renews now: timestamp"))
    try tool.succeed("store", "refresh", "store")
    try tool.succeed("store", "status", "store")
  }

  // MARK: Verify

  @Test("A whole store is verified; each difference is one line, and the command fails", .slow)
  func verify() throws {
    let tool = try Tool.withBook()
    let whole = try tool.succeed("store", "verify", "store", "--limit-rate", "900M")
    // Two records, archives and indexes, and the file of all records.
    #expect(whole.output.hasPrefix("7 files verified, "))
    #expect(whole.output.hasSuffix(", 0 differences\n"))
    let folder = "store/targets/\(Tool.chapter1)/1.0"
    let name = try #require(tool.tree(folder).keys.first { $0.hasSuffix(".content.pkg") })
    try tool.write("damaged", to: "\(folder)/\(name)")
    let result = try tool.run("store", "verify", "store")
    #expect(result.status == 1)
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 2)
    for text in [
      "\(Tool.chapter1) 1.0 targets/", name, ": changed, it has 7 bytes", "same package",
    ] {
      #expect(lines.first?.contains(text) == true, "\(result.output)")
    }
    #expect(lines.last?.hasSuffix("1 difference") == true)
    let json = try tool.run("store", "verify", "store", Tool.chapter1, "--json").json()
    #expect(json["files"] as? Int == 3)
    let damages = try #require(json["damages"] as? [[String: Any]])
    #expect(damages.map { $0["problem"] as? String } == ["changed"])
    #expect(try tool.run("store", "verify", "store", Tool.chapter2).status == 0)
    try tool.fail("store", "verify", "store", "none", saying: ["hostedcontent store list STORE"])
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.0.pkg"))
    try tool.succeed("store", "verify", "store")
  }

  // MARK: Prune

  @Test("A dry run prints what is removed, and then the store has only what clients may use", .slow)
  func prune() throws {
    try makeOldStore()
    try tool.write("note", to: "store/metadata/notes.txt")
    let archive = try String(archive("1.0").dropFirst("store/".count))
    let before = try tool.tree("store")
    let plan = try tool.succeed("store", "prune", "store", "--dry-run")
    #expect(try tool.tree("store") == before)
    for text in [
      "metadata/1.snapshot.json: would be removed, ", "metadata/3.targets.json: would be removed, ",
      "\(archive): would be removed, ", "metadata/notes.txt: unknown, kept\n",
    ] { #expect(plan.output.contains(text), "\(plan.output)") }
    let json = try tool.succeed("store", "prune", "store", "--json").json()
    #expect(json["dryRun"] as? Bool == false && json["keepDays"] as? Int == 30)
    let files = try #require(json["files"] as? [[String: Any]])
    let removed = Set(files.compactMap { $0["path"] as? String })
    // The catalogs before the one that retired version 1.0, and what only they list.
    for (suffix, count) in [
      (".snapshot.json", 3), (".targets.json", 3), (".content.pkg", 1), (".content.index", 1),
      (".product.json", 2),
    ] { #expect(removed.count { $0.hasSuffix(suffix) } == count, "\(suffix): \(removed)") }
    #expect(removed.count { $0.hasSuffix(".records.jsonl") } >= 2, "\(removed)")
    #expect(removed.contains(archive))
    #expect(plan.output.contains("\n\(removed.count) files, "), "\(plan.output)")
    let after = try Set(tool.tree("store").keys)
    #expect(after.isDisjoint(with: removed))
    // The folder of version 1.0 is empty.
    #expect(before.count - after.count == removed.count + 1)
    for command in ["verify", "status", "list", "prune"] {
      try tool.succeed("store", command, "store")
    }
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(try tool.current() == [Tool.chapter1: "1.1"])
  }

  @Test("A new store has nothing to prune, and a store without keys is only planned")
  func nothing() throws {
    let tool = try Tool.withBook()
    #expect(try tool.succeed("store", "prune", "store").output == "0 files, 0 bytes removed\n")
    try FileManager.default.removeItem(atPath: tool.folder.path("store.keys"))
    try tool.succeed("store", "prune", "store", "--dry-run")
    try tool.fail("store", "prune", "store", saying: ["--keys FOLDER"])
  }
}
