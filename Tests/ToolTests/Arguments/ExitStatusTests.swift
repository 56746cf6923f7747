import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// The exit status of every command.
///
/// `UsageTests` tests the status of wrong usage.
@Suite("Exit status", .timeLimit(.hang))
struct ExitStatusTests {
  private static let service = [
    "--service", "http://127.0.0.1:1/", "--service-token-file", "nothing",
  ]

  /// For each command, arguments with which it fails in a folder with the store `store`, an empty
  /// folder `folder` and the library `lib`.
  static let failures: [String: [String]] = [
    "package": ["nothing", "--output", "out.pkg"],
    "inspect": ["nothing.pkg"],
    "validate": ["nothing.pkg"],
    "unpack": [Tool.sample("chapter1-1.0.pkg"), "--into", "store"],
    "store init": ["store"],
    "store publish": ["store", "nothing.pkg"],
    "store add": ["folder", "com.example.x"],
    "store list": ["folder"],
    "store retire": ["store", Tool.chapter1, "9.9"],
    "store withdraw": ["store", Tool.chapter1, "9.9"],
    "store refresh": ["folder"],
    "store rotate": ["folder", "root"],
    "store repair": ["folder"],
    "store recover": ["folder"],
    "store status": ["folder"],
    "store verify": ["store", "com.example.unknown"],
    "store prune": ["folder"],
    "store receipt-key": ["store", "nothing.pem"],
    // Nothing listens on this port.
    "store check": ["--at", "http://127.0.0.1:1/", "--proxy", "none"],
    "serve": ["folder"],
    "products": ["com.example.unknown", "--store", "store"],
    "get": ["com.example.unknown", "--store", "store", "--library", "lib"],
    "updates": ["--store", "folder", "--library", "lib"],
    "update": ["com.example.unknown", "--store", "store", "--library", "lib"],
    "list": ["--library", "nothing"],
    "restore": ["--store", "folder", "--library", "lib"],
    "queue": ["--library", "nothing"],
    "verify": ["com.example.unknown", "--library", "lib"],
    "repair": ["com.example.unknown", "--store", "store", "--library", "lib"],
    "remove": ["com.example.unknown", "--library", "lib"],
    "pin": ["com.example.unknown", "1.0", "--library", "lib"],
    "collect": ["--library", "nothing"],
    "store-server run": ["folder", "--data", "data"],
    "store-server key": ["list", "--data", "nothing"],
    "store-server receipt-key": ["list", "--data", "nothing"],
    "store-server voucher": ["add", "--data", "store/metadata/1.root.json"],
    "store-server import": ["--ledger", "nothing.sqlite", "--data", "data"],
    "store-server backup": ["--data", "nothing", "--output", "copy.sqlite"],
    "purchase": ["com.example.x"] + service, "entitlements": service, "history": service,
    "approve": ["order"] + service, "decline": ["order"] + service, "refund": ["order"] + service,
    "revoke": ["order"] + service, "reverse": ["order"] + service,
    "account erase": ["alice"] + service,
    "app-update": ["--id", "1", "--installed", "1.0", "--feed", "nothing"],
  ]

  @Test("A failure exits with 1 and a message that begins with the program's name", .slow)
  func failure() throws {
    let tool = try Tool.withBook()
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("folder"), withIntermediateDirectories: false)
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    for command in CommandTable.commands where command.name != "completion" {
      let words = try #require(Self.failures[command.name], "\(command.name)")
      let result = try tool.run(command.words + words)
      #expect(result.status == 1, "\(command.name): \(result.errors)")
      #expect(result.errors.hasPrefix("hostedcontent: "), "\(command.name): \(result.errors)")
    }
  }

  @Test(
    "An invalid identifier, version or number is wrong usage and creates nothing", .slow,
    arguments: [
      ["get", "a b", "--store", "store", "--library", "lib"],
      ["products", "a b", "--store", "store"],
      ["update", "a b", "--store", "store", "--library", "lib"],
      ["verify", "a b", "--library", "lib"],
      ["repair", "a b", "--store", "store", "--library", "lib"],
      ["remove", "a b", "--library", "lib"], ["remove", "a", "x", "--library", "lib"],
      ["pin", "a b", "1.0", "--library", "lib"], ["pin", "a", "x", "--library", "lib"],
      ["store", "verify", "store", "a b"], ["store", "prune", "store", "--keep-days", "0"],
      ["store", "status", "store", "--keep-days", "x"],
      ["store", "add", "store", "a b"], ["store", "retire", "store", "a b", "1.0"],
      ["store", "retire", "store", "a", "x"],
      ["store", "retire", "store", "a", "1", "--content", ""],
      ["store", "withdraw", "store", "a b", "1.0"], ["store", "withdraw", "store", "a", "x"],
      ["store", "recover", "store", "--seen-timestamp", "0"],
      ["store", "recover", "store", "--seen-targets", "9223372036854775808"],
      ["store", "recover", "store", "--at", "ftp://127.0.0.1/"],
      ["package", "f", "--output", "o.pkg", "--product", "a b"],
      ["package", "f", "--output", "o.pkg", "--content-version", "x"],
    ])
  func identifiers(words: [String]) throws {
    let tool = try Tool()
    try tool.fail(words, status: 2)
    #expect(try tool.tree().isEmpty)
  }

  @Test(
    "Every command that waits for a server exits with 130 at once after an interrupt", .slow,
    arguments: [
      ["products"], ["updates", "--library", "lib"],
      ["get", Tool.chapter2, "--library", "lib"], ["update", "--library", "lib"],
      ["restore", "--download", "--ledger", "lib/ledger.sqlite", "--library", "second"],
    ])
  func interrupted(words: [String]) throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    let server = try tool.serveStore("* stall 0")
    for number in [SIGINT, SIGTERM] {
      server.clearRequests()
      let process = try tool.start(
        words + ["--store", server.url, "--root", "store/metadata/1.root.json"],
        output: tool.folder.path("out.txt"), errors: tool.folder.path("err.txt"))
      process.wait { !server.requests.isEmpty }
      process.kill(number)
      #expect(process.waitUntilExit().status == 130, "\(words)")
      #expect(process.terminationReason == .exit)
      #expect(try tool.text("err.txt").contains("interrupted"))
    }
    try tool.succeed("verify", "--library", "lib")
  }

  @Test("Help, the man page and the guide have every exit status")
  func documented() throws {
    let tool = try Tool()
    let guide = try String(
      contentsOf: SourceTree.root.appending(path: "Documentation/CommandLine.md"), encoding: .utf8)
    let (help, page) = (try tool.succeed("--help").output, try tool.succeed("manual").output)
    for status in [0, 1, 2, 3, 130] {
      #expect(help.contains("\n  \(status) "), "\(help)")
      #expect(page.contains("\n.B \(status)\n"))
      #expect(guide.contains("\n| \(status) |"))
    }
  }
}
