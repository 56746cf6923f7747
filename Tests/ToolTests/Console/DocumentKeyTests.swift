import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The keys of JSON documents, on which scripts rely.
@Suite("Keys of documents", .timeLimit(.hang))
struct DocumentKeyTests {
  /// Runs a command, and expects the keys of its document, and those of the first of its `list`.
  private func expect(
    _ tool: Tool, _ words: [String], _ keys: Set<String>, _ list: String? = nil,
    _ elements: Set<String> = []
  ) throws {
    let document = try tool.succeed(words + ["--json"]).json()
    #expect(Set(document.keys) == keys, "\(words)")
    guard let list else { return }
    let items = try #require(document[list] as? [[String: Any]], "\(words)")
    let item = try #require(items.first, "\(words)")
    #expect(Set(item.keys) == elements, "\(words)")
  }

  @Test("The documents of packages and stores have the same keys in each version", .slow)
  func publisher() throws {
    let tool = try Tool.withBook()
    let package = Tool.sample("chapter1-1.1.pkg")
    try expect(
      tool, ["inspect", package],
      [
        "format", "productIdentifier", "contentIdentifier", "contentVersion", "packedBytes",
        "unpackedBytes", "findings", "entries",
      ])
    try expect(tool, ["validate", package], ["isValid", "findings"])
    try expect(tool, ["store", "list", "store"], ["products"])
    try expect(
      tool, ["store", "status", "store"],
      [
        "products", "sizes", "roles", "dueRoles", "record", "missingFiles", "prunableFiles",
        "prunableBytes", "unknownFiles", "attention",
      ], "roles", ["role", "version", "expires", "isExpired", "keys"])
    try expect(tool, ["store", "verify", "store"], ["files", "bytes", "damages"])
    try expect(
      tool, ["store", "publish", "store", package, "--dry-run"],
      ["dryRun", "products", "updates", "files", "removedFiles", "bytes"], "files",
      ["kind", "path", "bytes"])
    try expect(
      tool, ["products", "--store", "store"], ["products", "invalidProductIdentifiers"])
  }

  @Test("The documents of a library have the same keys in each version", .slow)
  func library() throws {
    let tool = try Tool.withBook()
    let library = ["--library", "lib"]
    let store = ["--store", "store"]
    try expect(
      tool, ["get", Tool.chapter1] + store + library, ["products"], "products",
      ["productIdentifier", "hasContent", "contents"])
    let update = ["update"] + store + library
    #expect(try tool.succeed(update + ["--json"]).json()["products"] as? [String] == [])
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.1.pkg"))
    try expect(
      tool, update, ["products"], "products", ["productIdentifier", "hasContent", "contents"])
    try expect(
      tool, ["queue", "--finished"] + library, ["transactions"], "transactions",
      ["id", "productIdentifier", "state"])
    try expect(
      tool, ["restore", "--ledger", "lib/ledger.sqlite", "--library", "second"] + store,
      ["restored"], "restored",
      ["productIdentifier", "originalTransactionIdentifier", "contents"])
    try expect(tool, ["verify"] + library, ["verified", "damages"])
    try expect(
      tool, ["repair"] + store + library, ["repairs", "removedRecords"], "repairs",
      ["contentIdentifier", "version", "damagedPaths", "bytesFetched"])
    try expect(
      tool, ["pin", Tool.chapter1, "1.1"] + library, ["pins"], "pins",
      ["contentIdentifier", "version"])
    try expect(tool, ["collect"] + library, ["removed", "leased", "failures", "bytesLeft"])
  }
}
