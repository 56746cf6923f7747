import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs the recipes of Documentation/Keys.md unchanged.
@Suite("Recipes for keys", .slow)
struct KeyRecipeTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  /// Each section's title with its commands.
  static let recipes: [String: String] = {
    let page = SourceTree.root.appending(path: "Documentation/Keys.md")
    let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
    var recipes: [String: String] = [:]
    for section in text.components(separatedBy: "\n## ").dropFirst() {
      let blocks = section.components(separatedBy: "```sh\n").dropFirst()
        .map { $0.components(separatedBy: "```")[0] }
      let title = section.prefix { $0 != "\n" }
      if !blocks.isEmpty { recipes[String(title)] = blocks.joined() }
    }
    return recipes
  }()

  private static let making = "Making a store with an off-line root"

  private func follow(_ title: String) throws {
    let recipe = try #require(Self.recipes[title], "Keys.md has no recipe “\(title)”")
    let result = try tool.follow(recipe)
    #expect(result.status == 0, "\(title): \(result.errors)")
  }

  /// Whether a client that keeps its trusted metadata in `trusted` accepts the store in `folder`.
  private func believes(_ folder: String) throws -> Bool {
    try tool.run(
      [
        "--metadata-dir", "trusted", "--metadata-url",
        "file://\(tool.folder.path("\(folder)/metadata"))", "refresh",
      ], program: Tool.program("tuf-client")
    ).status == 0
  }

  /// Creates a store with a product and offline root keys, and a client that trusts it.
  private func prepare() throws {
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("safe"), withIntermediateDirectories: true)
    try follow(Self.making)
    try tool.succeed("store", "add", "store", "com.example.book")
    let root = tool.folder.path("store/metadata/1.root.json")
    let result = try tool.run(
      ["--metadata-dir", "trusted", "init", root], program: Tool.program("tuf-client"))
    #expect(result.status == 0)
    #expect(try believes("store"))
  }

  @Test("A test follows every recipe")
  func complete() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    for title in Self.recipes.keys { #expect(source.contains("\"\(title)\""), "\(title)") }
    let page = try DocumentPage("Documentation/Keys.md")
    let blocks = page.blocks.map(\.text).joined()
    #expect(blocks.count == Self.recipes.values.map(\.count).reduce(0, +))
  }

  @Test("Publishing and refreshing work without the root keys, and clients accept the upload")
  func everyDay() throws {
    try prepare()
    try FileManager.default.removeItem(atPath: tool.folder.path("safe"))
    try tool.succeed("store", "add", "store", "com.example.other")
    try follow("Every day")
    try follow("Uploading")
    #expect(try believes("served"))
    try tool.fail("store", "rotate", "store", "timestamp", saying: ["--root-keys"])
  }

  @Test("A state folder has the record")
  func state() throws {
    try prepare()
    try follow("The keys are read-only, or on several machines")
    #expect(try believes("store"))
    #expect(tool.exists("state/published.json"))
  }

  @Test("A lost key is replaced")
  func lost() throws {
    try prepare()
    try FileManager.default.removeItem(atPath: tool.folder.path("store.keys/timestamp.pem"))
    try tool.fail("store", "add", "store", "com.example.other", saying: ["timestamp"])
    try follow("A key of targets, snapshot or timestamp is lost")
    try tool.succeed("store", "add", "store", "com.example.other")
    #expect(try believes("store"))
  }

  @Test("Root keys of custodians can sign with the passphrases of two of them")
  func custodians() throws {
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("safe"), withIntermediateDirectories: true)
    for name in ["ada", "bob", "eve"] {
      try Data("\(name)'s secret\n".utf8).write(to: URL(filePath: tool.folder.path("safe/\(name)")))
    }
    try follow("Root keys of several custodians")
    #expect(tool.exists("shared/metadata/2.root.json"))
  }

  @Test("Damaged metadata is repaired, and clients accept it")
  func damaged() throws {
    try prepare()
    try FileManager.default.removeItem(
      atPath: tool.folder.path("store/metadata/2.targets.json"))
    try tool.fail("store", "list", "store", saying: ["2.targets.json", "store repair"])
    try follow("The store's metadata is damaged")
    #expect(try believes("store"))
  }

  @Test("Clients accept a rotation after each step of its upload")
  func uploadedRotation() throws {
    try prepare()
    try follow("Uploading")
    #expect(try believes("served"))
    try follow("A key of targets, snapshot or timestamp is lost")
    let recipe = try #require(Self.recipes["Uploading"])
    for line in recipe.split(separator: "\n") {
      #expect(try tool.follow(String(line)).status == 0)
      #expect(try believes("served"), "\(line)")
    }
  }

  @Test("An attacker with all three online keys is locked out, and deceived clients recover")
  func stolen() throws {
    try prepare()
    for name in ["store", "store.keys"] {
      try FileManager.default.copyItem(
        atPath: tool.folder.path(name),
        toPath: tool.folder.path(name.replacingOccurrences(of: "store", with: "thief")))
    }
    for number in 1...5 { try tool.succeed("store", "add", "thief", "com.example.evil\(number)") }
    #expect(try believes("thief"))
    #expect(try !believes("store"))
    try follow("The publishing machine's keys were stolen")
    #expect(try believes("store"))
    try tool.succeed("store", "add", "thief", "com.example.more")
    #expect(try !believes("thief"))
    try tool.succeed("store", "add", "store", "com.example.good")
    #expect(try believes("store"))
  }

  @Test("One of three root keys can be lost, and the new ones can rotate others")
  func rootKey() throws {
    try prepare()
    try follow("One of three root keys is lost or stolen")
    #expect(try believes("store"))
    let names = try FileManager.default.contentsOfDirectory(
      atPath: tool.folder.path("safe/root-keys"))
    #expect(Set(names) == ["root-v2-1.pem", "root-v2-2.pem", "root-v2-3.pem"])
    try follow("A key of targets, snapshot or timestamp is lost")
    #expect(try believes("store"))
  }
}
