import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Restoring and housekeeping by command")
struct HousekeepingCommandTests {
  @Test("Restore lists purchases, and --download installs them in a second library", .slow)
  func restore() throws {
    let tool = try Tool.withBook()
    try tool.succeed(
      "get", Tool.chapter1, Tool.chapter2, "--store", "store", "--library", "lib", "--ledger",
      "ledger.sqlite")
    let common = ["--store", "store", "--library", "second", "--ledger", "ledger.sqlite"]
    let shown = try tool.run(["restore", "--json"] + common)
    #expect(shown.status == 0, "\(shown.errors)")
    let restored = try #require(try shown.json()["restored"] as? [[String: Any]])
    #expect(
      Set(restored.compactMap { $0["productIdentifier"] as? String })
        == [Tool.chapter1, Tool.chapter2])
    #expect(restored.allSatisfy { ($0["contents"] as? [String])?.count == 1 })
    #expect(try tool.current("second").isEmpty)
    let installed = try tool.run(["restore", "--download"] + common)
    #expect(installed.status == 0)
    #expect(installed.errors.contains("\(Tool.chapter1) 1.0: finished, "))
    #expect(try tool.current("second") == [Tool.chapter1: "1.0", Tool.chapter2: "1.0"])
    let nothing = try tool.run(["restore", "--account", "other"] + common)
    #expect(nothing.status == 0)
    #expect(nothing.output == "Nothing to restore.\n")
  }

  @Test("Pinned versions survive a collection, and removed ones are deleted", .slow)
  func housekeeping() throws {
    let tool = try Tool.withBook()
    let common = ["--store", "store", "--library", "lib"]
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    for version in ["1.1", "1.10"] {
      try tool.succeed("store", "publish", "store", Tool.sample("chapter1-\(version).pkg"))
      #expect(try tool.run(["update"] + common).status == 0)
    }
    try tool.succeed("pin", Tool.chapter1, "1.0", "--library", "lib")
    let pins = try tool.succeed("pin", "--library", "lib", "--json").json()["pins"] as? [Any]
    #expect(pins?.count == 1)
    let report = try tool.succeed("collect", "--library", "lib", "--json").json()
    #expect((report["removed"] as? [Any])?.count == 1)
    #expect(!tool.exists("lib/products/\(Tool.chapter1)/1.1"))
    #expect(tool.exists("lib/products/\(Tool.chapter1)/1.0"))
    try tool.succeed("remove", Tool.chapter1, "1.0", "--library", "lib")
    #expect(try tool.succeed("pin", "--library", "lib").output == "Nothing is pinned.\n")
    try tool.succeed("remove", Tool.chapter1, "--library", "lib")
    #expect(try tool.current().isEmpty)
    try tool.fail("remove", Tool.chapter1, "--library", "lib", saying: ["not installed"])
    try tool.fail("pin", Tool.chapter1, "--library", "lib", status: 2, saying: ["VERSION"])
    try tool.fail("pin", "--remove", "--library", "lib", status: 2, saying: ["--remove needs"])
    try tool.fail("collect", "--library", "nothing", saying: ["No library found"])
    #expect(!tool.exists("nothing"))
    try tool.succeed("verify", "--library", "lib")
  }
}
