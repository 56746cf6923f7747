import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// The example services as separate processes, with the sample packages.
@Suite("The examples run", .timeLimit(.hang))
struct ExampleTests {
  @Test(
    "Each buys, updates, and continues after an interruption", .slow,
    arguments: ["Bookshelf", "AsyncBookshelf"])
  func example(name: String) throws {
    let tool = try Tool.withBook()
    func run(_ products: String..., status: Int32 = 0) throws -> String {
      let result = try tool.run(
        ["store", "lib"] + products, program: Tool.program("Hosted\(name)"))
      #expect(result.status == status, "\(result.errors)")
      #expect(result.errors.contains("nothing: not offered") == (status == 1))
      return result.output
    }
    let first = try run(Tool.chapter1, "nothing", status: 1)
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
    "Each buys products with several contents and without content once, and finishes them", .slow,
    arguments: ["Bookshelf", "AsyncBookshelf"])
  func contents(name: String) throws {
    let tool = try Tool.withCourse()
    for _ in 1...2 {
      let result = try tool.run(
        ["store", "lib", Tool.chapter1, Tool.course, Tool.club],
        program: Tool.program("Hosted\(name)"))
      #expect(result.status == 0, "\(result.output)\(result.errors)")
    }
    #expect(
      Set(try tool.current().keys) == [Tool.chapter1, Tool.course, "\(Tool.course).audio"])
    #expect(try tool.unfinished().isEmpty)
    #expect(try tool.grants().count == 3)
  }

  @Test(
    "Each exits with 1 and the reason after a failure, and with 2 for wrong usage; it pays once",
    .slow, arguments: ["Bookshelf", "AsyncBookshelf"])
  func failures(name: String) throws {
    let tool = try Tool.withBook()
    func run(_ words: [String], _ status: Int32, saying text: String) throws {
      let result = try tool.run(words, program: Tool.program("Hosted\(name)"))
      #expect(result.status == status, "\(words): \(result.output)\(result.errors)")
      #expect(result.errors.contains(text), "\(words): \(result.errors)")
    }
    try run(["store", "lib"], 2, saying: "Usage: \(name) [--root FILE] STORE LIBRARY PRODUCT…")
    try run(["nowhere", "lib", Tool.chapter1], 1, saying: "nowhere")
    let version = tool.folder.path("store/targets/\(Tool.chapter1)/1.0")
    let away = tool.folder.path("away")
    try FileManager.default.moveItem(atPath: version, toPath: away)
    try run(["store", "lib", Tool.chapter1], 1, saying: Tool.chapter1)
    try FileManager.default.moveItem(atPath: away, toPath: version)
    let again = try tool.run(
      ["store", "lib", Tool.chapter1], program: Tool.program("Hosted\(name)"))
    #expect(again.status == 0, "\(again.errors)")
    #expect(try tool.grants().count == 1)
  }

  @Test(
    "Each accepts a store on the web with its root", .slow,
    arguments: ["Bookshelf", "AsyncBookshelf"])
  func webStore(name: String) throws {
    let tool = try Tool.withBook()
    let server = try tool.serveStore()
    let words = [server.url, "lib", Tool.chapter1]
    let careless = try tool.run(words, program: Tool.program("Hosted\(name)"))
    #expect(careless.status == 1, "\(careless.output)")
    let root = ["--root", "store/metadata/1.root.json"]
    for _ in 1...2 {
      let result = try tool.run(root + words, program: Tool.program("Hosted\(name)"))
      #expect(result.status == 0, "\(result.output)\(result.errors)")
    }
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
  }

  @Test("Each is under 120 lines", arguments: ["Bookshelf", "AsyncBookshelf"])
  func length(name: String) throws {
    let file = SourceTree.root.appending(path: "Examples/\(name)/\(name).swift")
    let lines = try String(contentsOf: file, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 120)
  }

  @Test("A store service in front of the built-in one decides who may buy")
  func members() throws {
    let tool = try Tool.withBook()
    try tool.write("ada\nbob\n", to: "members")
    func run(_ account: String) throws -> Tool.Result {
      try tool.run(
        ["store", "lib", "members", account, Tool.chapter1], program: Tool.program("HostedMembers"))
    }
    let refused = try run("eve")
    #expect(refused.status == 1)
    #expect(refused.output.contains("not a member"), "\(refused.output)")
    let sold = try run("ada")
    #expect(sold.status == 0, "\(sold.output)\(sold.errors)")
    #expect(sold.output.contains("products/\(Tool.chapter1)/1.0/"))
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    #expect(try tool.unfinished().isEmpty)
  }
}
