import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// `store withdraw`, and clients that have installed the withdrawn version.
@Suite("The command store withdraw", .timeLimit(.hang))
struct StoreWithdrawTests {
  private let tool: Tool

  /// Publishes 1.0 and, by mistake, 1.10.
  init() throws {
    tool = try Tool.withStore()
    for version in ["1.0", "1.10"] { try publish(version) }
  }

  private func publish(_ version: String) throws {
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-\(version).pkg"))
  }

  private func withdraw(_ version: String) throws {
    let result = try tool.succeed("store", "withdraw", "store", Tool.chapter1, version)
    #expect(result.output == "\(Tool.chapter1) \(version): withdrawn; its files are kept\n")
    #expect(result.errors.hasPrefix("Publish the right version now."))
  }

  private func client(_ words: String...) throws -> Tool.Result {
    let result = try tool.run(words + ["--store", "store", "--library", "lib"])
    #expect(result.status == 0, "\(words): \(result.output)\(result.errors)")
    return result
  }

  @Test(
    "A lower version can be published, and clients replace the withdrawn one with it", .slow,
    arguments: [["update"], ["get", Tool.chapter1]])
  func story(words: [String]) throws {
    _ = try client("get", Tool.chapter1)
    #expect(try tool.current() == [Tool.chapter1: "1.10"])
    try withdraw("1.10")
    #expect(try !tool.succeed("store", "list", "store").output.contains("1.10"))
    try publish("1.1")
    let updates = try client("updates", "--json").json()
    let update = try #require((updates["updates"] as? [[String: Any]])?.first)
    #expect(update["installed"] as? String == "1.10")
    #expect(update["offered"] as? String == "1.1")
    let result = try tool.run(words + ["--store", "store", "--library", "lib"])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("\(Tool.chapter1) 1.1: installed"))
    #expect(try tool.current() == [Tool.chapter1: "1.1"])
    #expect(try client("updates").output == "Everything is up to date.\n")
    try tool.succeed("collect", "--library", "lib")
    #expect(!tool.exists("lib/products/\(Tool.chapter1)/1.10"))
    try tool.succeed("verify", "--library", "lib")
  }

  @Test("Without another version, clients return to the newest offered one", .slow)
  func back() throws {
    _ = try client("get", Tool.chapter1)
    try withdraw("1.10")
    _ = try client("update")
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
  }

  @Test("The number cannot be used again, also after the version was retired", .slow)
  func number() throws {
    try tool.succeed("store", "retire", "store", Tool.chapter1, "1.10")
    try withdraw("1.10")
    try publish("1.1")
    try tool.fail(
      "store", "publish", "store", Tool.sample("chapter1-1.10.pkg"),
      saying: ["version 1.10 of \(Tool.chapter1) was withdrawn", "[702]"])
    #expect(try tool.succeed("store", "list", "store").output.contains("1.1 "))
  }

  @Test("An unknown version and an unknown content are errors that change nothing")
  func unknown() throws {
    let before = try tool.tree("store")
    let unknown = [
      [Tool.chapter1, "9.9"], ["none", "1.0"], [Tool.chapter1, "1.0", "--content", "x"],
    ]
    for words in unknown {
      try tool.fail(
        ["store", "withdraw", "store"] + words, saying: ["(hostedcontent store list STORE)"])
    }
    #expect(try tool.tree("store") == before)
  }

  @Test("A content with an identifier of its own is withdrawn with --content")
  func content() throws {
    try tool.succeed(
      "store", "publish", "store", Tool.sample("course-1.0.pkg"),
      Tool.sample("course-audio-1.0.pkg"), Tool.sample("course-audio-1.1.pkg"))
    let audio = "com.example.course.audio"
    let result = try tool.succeed(
      "store", "withdraw", "store", Tool.course, "1.1", "--content", audio)
    #expect(result.output.hasPrefix("\(audio) 1.1: withdrawn"))
    let list = try tool.succeed("store", "list", "store").output
    #expect(list.contains(/course\.audio +1\.0 +\d/), "\(list)")
    #expect(!list.contains(/course\.audio +1\.1 +\d/), "\(list)")
  }
}
