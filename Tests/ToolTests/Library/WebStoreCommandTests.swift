import HostedHTTPValues
import HostedModel
import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// The commands that read a store, with a store over HTTP.
@Suite("A store on the web", .timeLimit(.hang))
struct WebStoreCommandTests {
  private let tool: Tool
  private let server: FileServer

  init() throws {
    tool = try Tool.withStore()
    let package = try tool.makePackage("com.example.a", "1.0", ["text": Data("A text\n".utf8)])
    #expect(try tool.run("store", "publish", "store", package).status == 0)
    server = try tool.serveStore()
  }

  private var store: [String] { ["--store", server.url, "--root", "store/metadata/1.root.json"] }

  @Test("products, get, updates, update and restore work like with a folder", .slow)
  func story() throws {
    #expect(try tool.run(["products"] + store).output.contains("com.example.a"))
    let library = ["--library", "lib"]
    #expect(try tool.run(["get", "com.example.a"] + store + library).status == 0)
    #expect(try tool.text("lib/products/com.example.a/current/Contents/text") == "A text\n")
    let package = try tool.makePackage("com.example.a", "1.1", ["text": Data("Another\n".utf8)])
    #expect(try tool.run("store", "publish", "store", package).status == 0)
    #expect(try tool.run(["updates"] + store + library).output.contains("1.1"))
    #expect(try tool.run(["update"] + store + library).status == 0)
    #expect(try tool.text("lib/products/com.example.a/current/Contents/text") == "Another\n")
    let restore = ["restore", "--download", "--ledger", "lib/ledger.sqlite", "--library", "lib2"]
    #expect(try tool.run(restore + store).status == 0)
    #expect(try tool.text("lib2/products/com.example.a/current/Contents/text") == "Another\n")
  }

  @Test("Times and numbers of requests have no maximum")
  func largeNumbers() throws {
    let options = [
      "--timeout", "--connections", "--attempts", "--connect-timeout", "--stall-timeout",
      "--busy-timeout",
    ].flatMap { [$0, "\(Int.max)"] }
    try tool.succeed(["get", "com.example.a", "--library", "lib"] + store + options)
  }

  @Test(
    "Trust on first use requires its option and prints a note")
  func firstUse() throws {
    let get = ["get", "com.example.a", "--store", server.url, "--library", "lib"]
    let careful = try tool.run(get)
    #expect(careful.status == 1)
    #expect(careful.errors.contains("--root"))
    let trusting = try tool.run(get + ["--trust-on-first-use"])
    #expect(trusting.status == 0)
    #expect(trusting.errors.contains("Trusting the store's root"))
  }

  @Test("A root of another store is refused after the first use, with the folder to remove", .slow)
  func rootOfAnotherStore() throws {
    let get = ["get", "com.example.a", "--store", server.url, "--library", "lib"]
    #expect(try tool.run(get + ["--trust-on-first-use"]).status == 0)
    let package = try tool.makePackage("com.example.a", "1.1", ["text": Data("Another\n".utf8)])
    #expect(try tool.run("store", "publish", "store", package).status == 0)
    #expect(try tool.run("store", "init", "other").status == 0)
    let refused = try tool.run(get + ["--root", "other/metadata/1.root.json"])
    #expect(refused.status == 1)
    #expect(refused.errors.contains("lib/trust"))
    #expect(try tool.text("lib/products/com.example.a/current/Contents/text") == "A text\n")
    #expect(try tool.run(get + ["--root", "store/metadata/1.root.json"]).status == 0)
    #expect(try tool.text("lib/products/com.example.a/current/Contents/text") == "Another\n")
  }

  @Test("A header or token over plain HTTP is refused, and the message has the option to allow it")
  func plainHTTP() throws {
    try Data("secret".utf8).write(to: URL(filePath: tool.folder.path("token")))
    let away = ["--store", "http://store.invalid:8080", "--root", "store/metadata/1.root.json"]
    let library = ["--library", "lib", "--proxy", "none", "--attempts", "1"]
    for secret in [["--header", "X-Key: secret"], ["--token-file", "token"]] {
      let refused = try tool.run(["get", "com.example.a"] + away + library + secret)
      #expect(refused.status == 1)
      #expect(refused.errors.contains("--allow-plain-http http://store.invalid:8080"))
      #expect(!refused.errors.contains("secret"))
      let allowed = ["--allow-plain-http", "http://store.invalid:8080"]
      let sent = try tool.run(["products"] + away + library.dropFirst(2) + secret + allowed)
      #expect(sent.status == 1)
      #expect(sent.errors.contains("Cannot resolve the host store.invalid"))
    }
  }

  @Test(
    "A command recovers from a temporary fault, and reports a permanent one", .slow,
    arguments: ["status 503", "cut 100", "close", "login-page"])
  func faults(fault: String) throws {
    try server.setFaults(FaultScript("/targets/* \(fault) once"))
    let get = ["get", "com.example.a", "--library", "lib", "--attempts", "2"] + store
    let healed = try tool.run(get)
    #expect(healed.status == 0, "\(healed.errors)")
    try server.setFaults(FaultScript("/targets/* \(fault)"))
    let lasting = try tool.run(
      ["get", "com.example.a", "--library", "lib2", "--attempts", "2", "--busy-timeout", "1"]
        + store)
    #expect(lasting.status == 1)
    #expect(lasting.errors.contains("com.example.a"))
    try server.setFaults(.none)
    #expect(try tool.run(["get", "com.example.a", "--library", "lib2"] + store).status == 0)
  }

  @Test("A token from a file is sent to the store, and is not in any message")
  func token() throws {
    try Data("secret-of-ann\n".utf8).write(to: URL(filePath: tool.folder.path("token")))
    try server.setFaults(FaultScript("/metadata/timestamp.json status 401"))
    let result = try tool.run(
      ["get", "com.example.a", "--library", "lib", "--token-file", "token"] + store)
    #expect(result.status == 1)
    #expect(!(result.errors + result.output).contains("secret"))
    let tokens = server.requests.map { $0.request.headers["authorization"] }
    #expect(Set(tokens) == ["Bearer secret-of-ann"])
  }
}
