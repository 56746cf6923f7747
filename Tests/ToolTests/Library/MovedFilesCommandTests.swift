import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// `list` and `get` after installed files were moved elsewhere.
@Suite("Commands after installed files were moved")
struct MovedFilesCommandTests {
  private let tool: Tool
  private let version = "lib/products/\(Tool.chapter1)/1.0"

  init() throws {
    tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
  }

  private func entry() throws -> [String: Any] {
    let report = try tool.succeed("list", "--library", "lib", "--json").json()
    return try #require((report["contents"] as? [[String: Any]])?.first)
  }

  @Test(
    "list reports a version with missing files, and get fetches them without buying again", .slow,
    arguments: ["Contents", ""])
  func missing(path: String) throws {
    #expect(try entry()["filesMissing"] as? Bool == false)
    #expect(try !tool.succeed("list", "--library", "lib").output.contains("files missing"))
    let place = path.isEmpty ? version : "\(version)/\(path)"
    try FileManager.default.moveItem(
      atPath: tool.folder.path(place), toPath: tool.folder.path("moved"))
    #expect(try entry()["filesMissing"] as? Bool == true)
    #expect(try tool.succeed("list", "--library", "lib").output.contains("files missing"))
    let get = try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(get.output.contains("\(Tool.chapter1) 1.0: installed"))
    #expect(get.errors.contains("fetched"), "\(get.errors)")
    #expect(try entry()["filesMissing"] as? Bool == false)
    // A version without its folder is not installed, like after a removal.
    if !path.isEmpty { #expect(try tool.grants().count == 1) }
    #expect(try tool.unfinished().isEmpty)
    try tool.succeed("verify", "--library", "lib")
  }

  @Test("get fails for missing files that the store no longer offers")
  func retired() throws {
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.10.pkg"))
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    try tool.succeed("store", "retire", "store", Tool.chapter1, "1.10")
    let newer = "lib/products/\(Tool.chapter1)/1.10/Contents"
    try FileManager.default.moveItem(
      atPath: tool.folder.path(newer), toPath: tool.folder.path("moved"))
    try tool.fail(
      "get", Tool.chapter1, "--store", "store", "--library", "lib",
      saying: ["\(Tool.chapter1) 1.10", "missing", "hostedcontent remove"])
  }

  @Test("A purchase without content in the store is not reported as installed", .slow)
  func nothingOffered() throws {
    try tool.succeed("store", "add", "store", Tool.club, "--title", "Club")
    for _ in 1...2 {
      let get = try tool.succeed("get", Tool.club, "--store", "store", "--library", "lib")
      #expect(get.output == "\(Tool.club): bought, the store offers no content for it\n")
    }
    try tool.succeed("store", "retire", "store", Tool.chapter1, "1.0")
    let get = try tool.succeed(
      "get", Tool.chapter1, "--store", "store", "--library", "second")
    #expect(get.output == "\(Tool.chapter1): bought, the store offers no content for it\n")
    let json = try tool.succeed(
      "get", Tool.club, Tool.chapter2, "--store", "store", "--library", "second", "--json"
    ).json()
    let products = try #require(json["products"] as? [[String: Any]])
    #expect(products.map { $0["productIdentifier"] as? String } == [Tool.chapter2, Tool.club])
    #expect(products.map { $0["hasContent"] as? Bool } == [true, false])
    #expect(products.map { ($0["contents"] as? [[String: Any]])?.count } == [1, 0])
  }
}
