import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Two processes that use the same library, grants or store at the same time.
@Suite("Two processes at once", .timeLimit(.hang))
struct TwoProcessTests {
  private static let products = (1...6).map { "com.example.p\($0)" }

  /// A tool with a package of each product, and an empty store.
  private func workplace() throws -> (tool: Tool, packages: [String]) {
    let tool = try Tool.withStore()
    let packages = try Self.products.map {
      try tool.makePackage($0, "1.0", ["text": Data("The text of \($0)\n".utf8)])
    }
    return (tool, packages)
  }

  private func publish(_ packages: [String], _ tool: Tool) throws {
    let result = try tool.run(["store", "publish", "store"] + packages)
    #expect(result.status == 0, "\(result.errors)")
  }

  /// Runs all of `runs` at the same time.
  ///
  /// Returns their results in the same order.
  private func atOnce(_ runs: [[String]], _ tool: Tool) throws -> [Tool.Result] {
    let started = try runs.enumerated().map { number, words in
      let outputs = ["output", "errors"].map { tool.folder.path("\($0)-\(number)") }
      return (try tool.start(words, output: outputs[0], errors: outputs[1]), outputs)
    }
    return try started.map { process, outputs in
      process.waitUntilExit()
      let texts = try outputs.map { try String(contentsOfFile: $0, encoding: .utf8) }
      return Tool.Result(status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
  }

  @Test(
    "A second engine is refused while the first runs, a reader is not; a kill releases the lock",
    .slow
  )
  func oneLibrary() throws {
    let (tool, packages) = try workplace()
    try publish(packages, tool)
    let library = ["--library", "lib"]
    try tool.succeed("get", Self.products[0], "--store", "store", "--library", "lib")
    // The first process waits for bytes that never arrive.
    let server = try tool.serveStore("*.pkg stall 0")
    let web = ["--store", server.url, "--root", "store/metadata/1.root.json"]
    let first = try tool.start(["get", Self.products[1]] + web + library)
    defer { if first.isRunning { first.kill(SIGKILL) } }
    first.wait { server.requests.contains { $0.path.hasSuffix(".pkg") } }

    for words in [["get", Self.products[2]], ["get", Self.products[0]], ["update"], ["collect"]] {
      let store = words == ["collect"] ? [] : ["--store", "store"]
      let refused = try tool.run(words + store + library)
      #expect(refused.status == 1)
      #expect(refused.errors.contains("[310]"), "\(words): \(refused.errors)")
      #expect(refused.errors.contains("process \(first.processIdentifier) "), "\(refused.errors)")
    }
    #expect(try tool.current() == [Self.products[0]: "1.0"])
    #expect(try tool.unfinished().map { $0["productIdentifier"] as? String } == [Self.products[1]])
    try tool.succeed("verify", "--library", "lib")
    try tool.succeed("updates", "--store", "store", "--library", "lib")

    #expect(first.isRunning)
    first.kill(SIGKILL)
    first.waitUntilExit()
    try tool.succeed(
      "get", Self.products[1], Self.products[2], "--store", "store", "--library", "lib")
    #expect(
      try tool.current() == [
        Self.products[0]: "1.0", Self.products[1]: "1.0", Self.products[2]: "1.0",
      ])
    #expect(try tool.unfinished().isEmpty)
  }

  @Test("Two processes that buy with one ledger lose no purchase", .slow)
  func oneLedger() throws {
    let (tool, packages) = try workplace()
    try publish(packages, tool)
    let runs = ["one", "two"].map {
      ["get"] + Self.products + ["--store", "store", "--ledger", "grants", "--library", $0]
    }
    for result in try atOnce(runs, tool) { #expect(result.status == 0, "\(result.errors)") }

    let granted = try tool.grants("grants")
    var bought: [String] = []
    for library in ["one", "two"] {
      let queue = try tool.succeed("queue", "--library", library, "--finished", "--json").json()
      let finished = try #require(queue["transactions"] as? [[String: Any]])
      bought += finished.compactMap { $0["id"] as? String }
      #expect(try tool.current(library).count == Self.products.count)
    }
    // Each product is sold once, and the other process has a free repeat of the sale.
    #expect(Set(granted).count == Self.products.count && Set(granted).isSubset(of: bought))
    #expect(Set(bought).count == 2 * Self.products.count)
  }

  @Test("Two concurrent publications succeed or are refused, and nothing is damaged", .slow)
  func oneStore() throws {
    let (tool, packages) = try workplace()
    for pair in stride(from: 0, to: packages.count, by: 2) {
      let two = [packages[pair], packages[pair + 1]]
      let results = try atOnce(two.map { ["store", "publish", "store", $0] }, tool)
      #expect(results.contains { $0.status == 0 })
      for (package, result) in zip(two, results) where result.status != 0 {
        #expect(result.errors.contains("[202]"), "\(result.errors)")
        try publish([package], tool)
      }
    }
    let got = try tool.run(["get"] + Self.products + ["--store", "store", "--library", "lib"])
    #expect(got.status == 0, "\(got.errors)")
    #expect(try tool.current().count == Self.products.count)
    try tool.succeed("verify", "--library", "lib")
  }
}
