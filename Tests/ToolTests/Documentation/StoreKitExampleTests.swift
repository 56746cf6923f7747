import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Programs for Apple's StoreKit, as processes with the sample packages.
@Suite("Programs for Apple's StoreKit run unchanged", .timeLimit(.hang))
struct StoreKitExampleTests {
  private func run(_ name: String, in tool: Tool, library: String = "lib", _ words: String...)
    throws -> Tool.Result
  {
    try tool.run(
      words, program: Tool.program(name), environment: environment(tool, library: library))
  }

  private func environment(_ tool: Tool, library: String = "lib") -> [String: String] {
    [
      "HOSTEDCONTENT_STORE": tool.folder.path("store"),
      "HOSTEDCONTENT_LIBRARY": tool.folder.path(library),
    ]
  }

  private func unfinished(_ tool: Tool, _ library: String = "lib") throws -> Int? {
    let queue = try tool.succeed("queue", "--library", library, "--json").json()
    return (queue["transactions"] as? [Any])?.count
  }

  @Test("An observer buys, copies the content and finishes, and an update is copied beside it")
  func keeper() throws {
    let tool = try Tool.withBook()
    let first = try run("HostedKeeper", in: tool, "documents", Tool.chapter1, "nothing")
    #expect(first.status == 0, "\(first.output)\(first.errors)")
    #expect(first.output.contains("nothing: not for sale"))
    #expect(first.output.contains("\(Tool.chapter1): kept 1.0"))
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.10.pkg"))
    #expect(try run("HostedKeeper", in: tool, "documents", Tool.chapter1).status == 0)
    let kept = try FileManager.default.contentsOfDirectory(
      atPath: tool.folder.path("documents/\(Tool.chapter1)"))
    #expect(kept.sorted() == ["1.0", "1.10"])
    let text = try FileManager.default.subpathsOfDirectory(
      atPath: tool.folder.path("documents/\(Tool.chapter1)/1.10"))
    #expect(!text.isEmpty)
    #expect(try unfinished(tool) == 0)
  }

  @Test("Without a store, payments are disabled, and a message explains the configuration")
  func unconfigured() throws {
    let tool = try Tool()
    let result = try tool.run(["documents", "a"], program: Tool.program("HostedKeeper"))
    #expect(result.status == 2 && result.output.contains("Usage"))
    #expect(result.errors.split(separator: "\n").count == 1)
    for words in ["SKPaymentQueue.configure", "HOSTEDCONTENT_STORE", "HOSTEDCONTENT_LIBRARY"] {
      #expect(result.errors.contains(words), "\(result.errors)")
    }
  }

  @Test("A program continues if a message cannot be written to standard error")
  func fullErrors() throws {
    let result = try Tool().run(
      ["-c", "exec \"$0\" documents a 2>/dev/full", Tool.program("HostedKeeper")],
      program: "/bin/sh")
    #expect(result.status == 2 && result.output.contains("Usage"))
  }

  @Test("A restore offers a choice, and finished transactions can be restored again", .slow)
  func chooser() throws {
    let tool = try Tool.withBook()
    #expect(
      try run("HostedKeeper", in: tool, "documents", Tool.chapter1, Tool.chapter2).status == 0)
    for product in [Tool.chapter1, Tool.chapter2] {
      try tool.succeed("remove", product, "--library", "lib")
    }
    let first = try run("HostedChooser", in: tool, Tool.chapter2)
    #expect(first.status == 0, "\(first.output)\(first.errors)")
    #expect(first.output.contains("\(Tool.chapter1): left"))
    #expect(first.output.contains("\(Tool.chapter2): chosen"))
    #expect(try tool.current() == [Tool.chapter2: "1.0"])
    #expect(try unfinished(tool) == 0)
    #expect(try run("HostedChooser", in: tool, Tool.chapter1).status == 0)
    #expect(try tool.current() == [Tool.chapter1: "1.0", Tool.chapter2: "1.0"])
  }

  /// Runs `body` while the store does not have the archive of chapter 1.
  private func withoutArchive<Value>(_ tool: Tool, _ body: () throws -> Value) throws -> Value {
    let version = tool.folder.path("store/targets/\(Tool.chapter1)/1.0")
    let away = tool.folder.path("away")
    try FileManager.default.moveItem(atPath: version, toPath: away)
    let value = try body()
    try FileManager.default.moveItem(atPath: away, toPath: version)
    return value
  }

  @Test("A purchase whose download failed is delivered by the next run", .slow)
  func failedPurchase() throws {
    let tool = try Tool.withBook()
    try withoutArchive(tool) {
      let first = try run("HostedKeeper", in: tool, "documents", Tool.chapter1)
      #expect(!first.output.contains("kept"), "\(first.output)")
      #expect(try unfinished(tool) == 1)
    }
    let second = try run("HostedKeeper", in: tool, "documents", Tool.chapter1)
    #expect(
      second.output.contains("\(Tool.chapter1): kept 1.0"), "\(second.output)\(second.errors)")
  }

  @Test("A restore whose download failed is offered once by the next run", .slow)
  func failedRestore() throws {
    let tool = try Tool.withBook()
    #expect(try run("HostedKeeper", in: tool, "documents", Tool.chapter1).status == 0)
    try tool.succeed("remove", Tool.chapter1, "--library", "lib")
    let first = try withoutArchive(tool) { try run("HostedChooser", in: tool, Tool.chapter1) }
    #expect(first.status == 1)
    let second = try run("HostedChooser", in: tool, Tool.chapter1)
    #expect(second.status == 0, "\(second.output)\(second.errors)")
    #expect(second.output.components(separatedBy: "chosen").count == 2, "\(second.output)")
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    #expect(try unfinished(tool) == 0)
  }

  @Test("A transaction with several downloads is finished when the last one has ended", .slow)
  func severalDownloads() throws {
    let tool = try Tool.withCourse()
    let result = try run("HostedCourse", in: tool, Tool.course)
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(result.output.contains("2 downloads") && result.output.contains("100 %"))
    #expect(try tool.current().count == 2)
    #expect(try unfinished(tool) == 0)
    #expect(try run("HostedCourse", in: tool, Tool.club).output.contains("0 downloads"))
    #expect(try unfinished(tool) == 0)
    let unknown = try run("HostedCourse", in: tool, "com.example.unknown")
    #expect(unknown.status == 1 && unknown.output.contains("Not for sale"))
  }

  @Test(
    "Each content of a product is copied, or restored, before its transaction is finished", .slow)
  func contents() throws {
    let tool = try Tool.withCourse()
    let products = [Tool.chapter1, Tool.course, Tool.club]
    let kept = try tool.run(
      ["documents"] + products, program: Tool.program("HostedKeeper"),
      environment: environment(tool))
    #expect(kept.status == 0, "\(kept.output)\(kept.errors)")
    let contents = [Tool.chapter1, Tool.course, "\(Tool.course).audio"]
    for content in contents { #expect(tool.exists("documents/\(content)/1.0")) }
    #expect(try unfinished(tool) == 0)
    for content in contents { try tool.succeed("remove", content, "--library", "lib") }
    let restored = try tool.run(
      products, program: Tool.program("HostedChooser"), environment: environment(tool))
    #expect(restored.status == 0, "\(restored.output)\(restored.errors)")
    #expect(Set(try tool.current().keys) == Set(contents))
    #expect(try unfinished(tool) == 0)
  }
}
