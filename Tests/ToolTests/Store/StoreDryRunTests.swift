import HostedModel
import HostedFileIO
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// `--dry-run` of commands that change a store.
@Suite("Dry runs of changes of a store", .timeLimit(.hang))
struct StoreDryRunTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  /// The inode, length and times of each file of the store and its keys, by path.
  private func files() throws -> [String: FileIdentity] {
    let manager = FileManager.default
    var found: [String: FileIdentity] = [:]
    for folder in ["store", "store.keys"] {
      for path in try manager.subpathsOfDirectory(atPath: tool.folder.path(folder)) {
        let name = "\(folder)/\(path)"
        let parent = try tool.folder.opened().directory(at: name.pathComponents().dropLast())
        let status = try #require(try parent.status(of: name.lastPathComponent))
        if status.kind == .file { found[name] = status.identity }
      }
    }
    return found
  }

  /// Runs `words` with `--dry-run`, which changes nothing, then without, and compares the files.
  private func compare(_ words: String...) throws -> [String: Any] {
    let before = try files()
    let text = try tool.run(words + ["--dry-run"])
    #expect(text.status == 0, "\(text.errors)")
    let json = try tool.run(words + ["--dry-run", "--json"]).json()
    #expect(try files() == before)
    let result = try tool.run(words)
    #expect(result.status == 0, "\(result.errors)")
    let after = try files()
    let planned = try #require(json["files"] as? [[String: Any]])
    let sizes = Dictionary(
      uniqueKeysWithValues: planned.map { (path($0), $0["bytes"] as? Int ?? -1) })
    let written = after.filter { before[$0.key] != $0.value }
    #expect(sizes == written.mapValues { Int($0.size) })
    let removed = try #require(json["removedFiles"] as? [[String: Any]]).map(path)
    #expect(Set(removed) == Set(before.keys).subtracting(after.keys))
    #expect(json["dryRun"] as? Bool == true)
    #expect(json["bytes"] as? Int == sizes.values.reduce(0, +))
    for path in sizes.keys { #expect(text.output.contains(path.dropFirst(6)), "\(text.output)") }
    return json
  }

  /// The path of a planned file below the tool's folder.
  private func path(_ file: [String: Any]) -> String {
    let path = file["path"] as? String ?? ""
    let isSecret = ["key", "publicationRecord"].contains(file["kind"] as? String)
    guard isSecret else { return "store/\(path)" }
    return String(path.trimmingPrefix("./"))
  }

  private func rows(_ json: [String: Any], _ name: String) throws -> [[String: Any]] {
    try #require(json[name] as? [[String: Any]])
  }

  @Test("The files of a dry run are those that the command writes and removes", .slow)
  func everyChange() throws {
    try tool.succeed("store", "init", "store")
    let sample = Tool.sample("chapter1-1.0.pkg")
    let published = try rows(compare("store", "publish", "store", sample), "products")
    let new = try #require(published.first)
    #expect(new["productIdentifier"] as? String == Tool.chapter1)
    #expect(new["isNew"] as? Bool == true)
    #expect((new["newVersions"] as? [[String: Any]])?.first?["version"] as? String == "1.0")
    let again = try compare("store", "publish", "store", sample)
    #expect(try rows(again, "files").isEmpty && rows(again, "products").isEmpty)
    let title = try rows(
      compare("store", "add", "store", Tool.chapter1, "--title", "One", "--price", "1"), "products")
    let fields = title.first?["changedFields"] as? [[String: String]]
    #expect(fields == [["name": "title", "language": "en"], ["name": "price"]])
    let retired = try rows(compare("store", "retire", "store", Tool.chapter1, "1.0"), "products")
    #expect((retired.first?["retiredVersions"] as? [[String: Any]])?.count == 1)
    let rotation = try compare("store", "rotate", "store", "timestamp", "root")
    #expect(try rows(rotation, "removedFiles").count == 2)
    #expect(try rows(compare("store", "refresh", "store"), "files").isEmpty)
    #expect(try rows(compare("store", "refresh", "store", "--everything"), "files").count == 4)
  }

  @Test("A dry run says what clients see, and which bytes an update fetches", .slow)
  func updates() throws {
    try tool.succeed("store", "init", "store")
    var pages = [
      "a": Data((0..<700_000).map { _ in UInt8.random(in: 0...255) }), "b": Data("page".utf8),
    ]
    let first = try tool.makePackage("com.example.book", "1.0", pages)
    try tool.succeed("store", "publish", "store", first)
    try tool.succeed("get", "com.example.book", "--store", "store", "--library", "lib")
    pages["a"]?.insert(contentsOf: Data("more".utf8), at: 300_000)
    let second = try tool.makePackage("com.example.book", "1.1", pages)
    let result = try tool.succeed("store", "publish", "store", second, "--dry-run")
    for text in [
      "com.example.book 1.1: would be published, ",
      "com.example.book 1.1: an update from 1.0 would fetch ",
      ".content.pkg: would be written, ", "published.json: would be written, ",
      "files, ", " would be written\n",
    ] { #expect(result.output.contains(text), "\(text): \(result.output)") }
    let planned = try rows(compare("store", "publish", "store", second), "updates")
    let common = ["--store", "store", "--library", "lib", "--json"]
    let measured = try rows(tool.run(["updates"] + common).json(), "updates")
    #expect(planned.count == 1 && measured.count == 1)
    for key in ["bytesToMove", "bytesInFull"] {
      #expect(planned.first?[key] as? Int == measured.first?[key] as? Int, "\(planned)")
    }
    let retired = try tool.succeed(
      "store", "retire", "store", "com.example.book", "1.0", "--dry-run")
    #expect(retired.output.contains("com.example.book 1.0: would be retired\n"))
    #expect(try tool.succeed("store", "list", "store").output.contains(" 1.0 "))
  }

  @Test("A dry run fails like the command, and leaves nothing", .slow)
  func failures() throws {
    let tool = try Tool.withBook()
    let before = try tool.tree("")
    let bad = [Tool.sample("bad/truncated.pkg"), Tool.sample("bad/bad-version.pkg")]
    try FileManager.default.moveItem(
      atPath: tool.folder.path("store.keys/root/root.pem"),
      toPath: tool.folder.path("root.pem"))
    for words in [
      ["store", "publish", "store"] + bad, ["store", "publish", "store", "nothing.pkg"],
      ["store", "retire", "store", Tool.chapter1, "9"], ["store", "rotate", "store", "timestamp"],
      ["store", "publish", "nowhere", bad[0]], ["store", "rotate", "store", "nobody"],
    ] {
      let dry = try tool.run(words + ["--dry-run"])
      let real = try tool.run(words)
      #expect(dry.status == real.status && dry.errors == real.errors, "\(words)")
      #expect(dry.status != 0 && dry.output == "", "\(words)")
    }
    try FileManager.default.moveItem(
      atPath: tool.folder.path("root.pem"),
      toPath: tool.folder.path("store.keys/root/root.pem"))
    #expect(try tool.tree("") == before)
    try tool.fail(
      "store", "retire", "store", Tool.chapter1, "1.0", "--json", status: 2, saying: ["--dry-run"])
  }

  @Test("A dry run converts archives outside of the store")
  func conversion() throws {
    try tool.succeed("store", "init", "store")
    let archive = Tool.sample("formats/zip.pkg")
    let temporary = tool.folder.path("temporary")
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: false)
    let before = try files()
    let result = try tool.run(
      ["store", "publish", "store", archive, "--repackage", "--dry-run"],
      environment: ["TMPDIR": temporary])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("com.example.forms.zip 1.0: would be published"))
    #expect(try files() == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
  }
}
