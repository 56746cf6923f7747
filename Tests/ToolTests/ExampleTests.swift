import Foundation
import TestSupport
import Testing

/// The example services as processes of their own, over the sample packages.
@Suite("The examples run", .timeLimit(.minutes(10)))
struct ExampleTests {
  @Test(
    "Each buys, keeps up to date, and goes on where it stopped",
    arguments: ["Bookshelf", "AsyncBookshelf"])
  func example(name: String) throws {
    let tool = try Tool.withBook()
    func run(_ products: String...) throws -> String {
      let result = try tool.run(
        ["store", "lib"] + products, program: Tool.program(name))
      #expect(result.status == 0, "\(result.errors)")
      return result.output
    }
    let first = try run(Tool.chapter1, "nothing")
    #expect(first.contains("nothing: not offered"))
    #expect(first.contains("products/\(Tool.chapter1)/1.0/"))
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.10.pkg"))
    let second = try run(Tool.chapter1, Tool.chapter2)
    #expect(second.contains("1.0 → 1.10"))
    #expect(try tool.current() == [Tool.chapter1: "1.10", Tool.chapter2: "1.0"])
    #expect(try tool.succeed("verify", "--library", "lib").status == 0)
    let queue = try tool.succeed("queue", "--library", "lib", "--json").json()
    #expect((queue["transactions"] as? [Any])?.isEmpty == true)
  }

  @Test(
    "Each installs every content of a product, and finishes one without content",
    arguments: ["Bookshelf", "AsyncBookshelf"])
  func contents(name: String) throws {
    let tool = try Tool.withCourse()
    let result = try tool.run(
      ["store", "lib", Tool.chapter1, Tool.course, Tool.club], program: Tool.program(name))
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(
      Set(try tool.current().keys) == [Tool.chapter1, Tool.course, "\(Tool.course).audio"])
    #expect(try tool.unfinished().isEmpty)
  }

  @Test("Each is under a hundred lines", arguments: ["Bookshelf", "AsyncBookshelf"])
  func length(name: String) throws {
    let file = URL(filePath: Tool.samples).deletingLastPathComponent()
      .appending(path: "Examples/\(name)/\(name).swift")
    let lines = try String(contentsOf: file, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 100)
  }
}
