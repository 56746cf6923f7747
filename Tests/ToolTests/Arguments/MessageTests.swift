import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// Error messages of the tool: what failed and what to do.
@Suite("Messages", .timeLimit(.hang))
struct MessageTests {
  @Test("A wrong or missing passphrase is reported with the key's file, without OpenSSL's message")
  func passphrase() throws {
    let tool = try Tool()
    try tool.write("secret\n", to: "right")
    try tool.write("guess\n", to: "wrong")
    try tool.succeed("store", "init", "store", "--passphrase-file", "right")
    let publish = ["store", "publish", "store", Tool.sample("chapter1-1.0.pkg")]
    for (words, reason) in [
      (["--passphrase-file", "wrong"], "Wrong passphrase"), ([], "needs a passphrase"),
    ] {
      let result = try tool.run(publish + words)
      #expect(result.status == 1)
      for text in [reason, "store.keys/targets.pem", "--passphrase-file FILE"] {
        #expect(result.errors.contains(text), "\(result.errors)")
      }
      for text in ["error:", "routines"] { #expect(!result.errors.contains(text)) }
    }
    try tool.succeed(
      "store", "publish", "store", Tool.sample("chapter1-1.0.pkg"), "--passphrase-file", "right")
  }

  @Test("A passphrase can come from standard input")
  func passphraseFromInput() throws {
    let tool = try Tool()
    let option = ["--passphrase-file", "/dev/stdin"]
    let made = try tool.run(["store", "init", "store"] + option, input: "secret\n")
    #expect(made.status == 0, "\(made.errors)")
    let publish = ["store", "publish", "store", Tool.sample("chapter1-1.0.pkg")] + option
    let refused = try tool.run(publish, input: "guess\n")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("Wrong passphrase"), "\(refused.errors)")
    let published = try tool.run(publish, input: "secret\n")
    #expect(published.status == 0, "\(published.errors)")
  }

  @Test(
    "A misspelled command or option gets a suggestion",
    arguments: [
      (["stor", "init", "x"], "store"), (["store", "pubish", "x"], "store publish"),
      (["publish", "x"], "store publish"), (["gett", "x"], "get"), (["udpate"], "update"),
      (["list", "--libary", "x"], "--library"), (["get", "x", "--lib", "x"], "--library"),
      (["get", "x", "--limit-rat=5"], "--limit-rate"),
    ])
  func misspelled(words: [String], meant: String) throws {
    let result = try Tool().run(words)
    #expect(result.status == 2)
    #expect(result.errors.contains("Did you mean “\(meant)”?"), "\(result.errors)")
  }

  @Test("A misspelled product gets a suggestion from the store or the library", .slow)
  func misspelledProduct() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    let (wrong, question) = ("com.example.book.chaptre1", "Did you mean “\(Tool.chapter1)”?")
    for words in [
      ["get", wrong, "--store", "store", "--library", "lib"],
      ["products", wrong, "--store", "store"],
      ["verify", wrong, "--library", "lib"], ["remove", wrong, "--library", "lib"],
      ["update", wrong, "--store", "store", "--library", "lib"],
      ["repair", wrong, "--store", "store", "--library", "lib"],
    ] {
      let result = try tool.run(words)
      #expect(result.status == 1)
      #expect(result.errors.contains(question), "\(words): \(result.errors)")
    }
    let other = try tool.fail("products", "org.elsewhere.film", "--store", "store")
    #expect(!other.errors.contains("Did you mean"))
  }

  @Test("An error of the library gets a hint at the command that helps")
  func hints() throws {
    let tool = try Tool.withBook()
    for (words, hint) in [
      (["store", "list", "none"], "hostedcontent store init STORE, or store repair STORE"),
      (["products", "--store", "none"], "(hostedcontent store init STORE)"),
      (["store", "retire", "store", Tool.chapter1, "9.0"], "(hostedcontent store list STORE)"),
      (["products", "none", "--store", "store"], "(hostedcontent products --store STORE)"),
      (["verify", "--library", "none"], "(hostedcontent get ID --store STORE --library FOLDER)"),
    ] {
      let result = try tool.run(words)
      #expect(result.status == 1)
      #expect(result.errors.contains(hint), "\(words): \(result.errors)")
    }
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    let unknown = try tool.run(["remove", "none", "--library", "lib"])
    #expect(unknown.errors.contains("(hostedcontent list --library FOLDER)"), "\(unknown.errors)")
    // The missing store is not the one that this command changes.
    let host = try tool.fail(
      "store", "recover", "store", "--at", "none", saying: ["Cannot open the store at none"])
    #expect(!host.errors.contains("store init"), "\(host.errors)")
  }

  @Test("The distance of words counts insertions, deletions, replacements and swaps")
  func nearest() {
    let words = ["get", "list", "update", "updates", "verify"]
    #expect(Suggestion.nearest(to: "verfiy", among: words) == "verify")
    #expect(Suggestion.nearest(to: "lsit", among: words) == "list")
    #expect(Suggestion.nearest(to: "updatse", among: words) == "update")
    #expect(Suggestion.nearest(to: "ver", among: words) == "verify")
    #expect(Suggestion.nearest(to: "up", among: words) == nil)
    #expect(Suggestion.nearest(to: "", among: words) == nil)
    #expect(Suggestion.nearest(to: "frobnicate", among: words) == nil)
    #expect(Suggestion.nearest(to: String(repeating: "x", count: 5_000), among: words) == nil)
  }

  @Test("An option instead of a value is wrong usage, and the message names the incomplete option")
  func optionAsValue() throws {
    let tool = try Tool.withBook()
    try tool.fail(
      "get", Tool.chapter1, "--store", "--library", "lib", status: 2,
      saying: ["--store needs a value", "--library"])
    // In the form --option=value, it is a value.
    try tool.succeed("store", "add", "store", "com.example.x", "--title=--library")
  }

  @Test("A proxy is a URL, also without its scheme; its password is not printed")
  func proxy() throws {
    let tool = try Tool.withBook()
    let words = ["products", "--store", "store", "--proxy"]
    let proxies = [
      "127.0.0.1:1", "proxy.example:3128", "proxy.example", "user:secret@[::1]:1", "none",
      "socks5h://user:p%40ss@[::1]",
    ]
    for proxy in proxies {
      #expect(try tool.run(words + [proxy]).status == 0, "\(proxy)")
    }
    let result = try tool.run(words + ["http://user:secret@proxy example"])
    #expect(result.status == 2)
    #expect(result.errors.contains("--proxy takes a URL"), "\(result.errors)")
    #expect(!result.errors.contains("secret"), "\(result.errors)")
  }

  @Test("A file that is not root metadata is reported, even if the library trusts a root")
  func root() throws {
    let tool = try Tool.withBook()
    try tool.write("root:x:0:0:root:/root:/bin/bash\n", to: "passwd")
    let get = ["get", Tool.chapter1, "--store", "store", "--library", "lib"]
    for _ in 1...2 {
      for words in [get, ["products", "--store", "store"]] {
        let result = try tool.run(words + ["--root", "passwd"])
        #expect(result.status == 1)
        #expect(result.errors.contains("is not the root metadata of a store"), "\(result.errors)")
        #expect(result.errors.contains("--root FILE"), "\(result.errors)")
        #expect(!result.errors.contains("Try again later"), "\(result.errors)")
      }
      try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    }
  }

  @Test("http:// to a port with TLS, and https:// to one without, suggest the other scheme")
  func schemes() throws {
    let tool = try Tool.withBook()
    try tool.write(TestCertificate.right.chain, to: "chain.pem")
    try tool.write(TestCertificate.right.key, to: "key.pem")
    var configuration = FileServer.Configuration()
    let plain = try FileServer(folder: tool.folder.path("store"), configuration: configuration)
    configuration.certificate = Certificate(
      chain: tool.folder.path("chain.pem"), key: tool.folder.path("key.pem"))
    let secure = try FileServer(folder: tool.folder.path("store"), configuration: configuration)
    try plain.start()
    try secure.start()
    for (url, texts) in [
      // The server closes the connection at once, and the client may not see its answer.
      ("https://127.0.0.1:\(plain.port)/", ["does not use TLS", "uses TLS on this port"]),
      ("http://127.0.0.1:\(secure.port)/", ["https://"]),
    ] {
      let result = try tool.run(
        "products", "--store", url, "--root", "store/metadata/1.root.json", "--attempts", "1")
      #expect(result.status == 1)
      #expect(texts.contains(where: result.errors.contains), "\(result.errors)")
      #expect(!result.errors.contains("SSL routines::") || url.hasPrefix("https"))
    }
  }

  @Test("The current folder can be a store, and is reported if it is not one")
  func currentFolder() throws {
    let tool = try Tool()
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("shop"), withIntermediateDirectories: false)
    func run(_ words: String...) throws -> Tool.Result {
      try tool.run(
        ["-c", "cd shop && exec \"$@\"", "sh", Tool.path] + words, program: "/bin/sh")
    }
    let missing = try run("store", "publish", ".", Tool.sample("chapter1-1.0.pkg"))
    #expect(missing.status == 1)
    #expect(missing.errors.contains("Cannot open the store at"), "\(missing.errors)")
    let made = try run("store", "init", ".")
    #expect(made.status == 0, "\(made.errors)")
    #expect(tool.exists("shop.keys/targets.pem"))
    #expect(made.output.contains("shop.keys"), "\(made.output)")
    let published = try run("store", "publish", ".", Tool.sample("chapter1-1.0.pkg"))
    #expect(published.status == 0, "\(published.errors)")
    try tool.succeed("get", Tool.chapter1, "--store", "shop", "--library", "lib")
  }

  @Test("Several invalid packages are all reported, each with a remedy")
  func invalidPackages() throws {
    let tool = try Tool.withBook()
    let bad = ["truncated", "bad-version"].map { Tool.sample("bad/\($0).pkg") }
    let remedies = try bad.map { path -> String in
      let alone = try tool.fail("store", "publish", "store", path).errors
      let after = try #require(alone.split(separator: ". ", maxSplits: 1).last)
      return String(try #require(after.split(separator: ".").first))
    }
    let both = try tool.fail("store", "publish", "store", bad[0], bad[1]).errors
    var place = both.startIndex
    for text in [bad[0], remedies[0], bad[1], remedies[1]] {
      let found = try #require(
        both.range(of: text, range: place..<both.endIndex), "\(text) in \(both)")
      place = found.upperBound
    }
  }

  @Test("A port in use is reported with address and reason")
  func portInUse() throws {
    let tool = try Tool.withBook()
    let server = try tool.serveStore()
    var messages: Set<String> = []
    for _ in 1...2 {
      let result = try tool.fail("serve", "store", "--listen", "127.0.0.1:\(server.port)")
      messages.insert(result.errors)
      // A stopped server holds its port without listening.
      server.stop()
    }
    #expect(messages.count == 1)
    #expect(
      messages.first?.contains(
        "Cannot listen at 127.0.0.1, port \(server.port): Address already in use") == true)
  }

  @Test("app-update reports a missing option once")
  func appUpdate() throws {
    for words in [
      ["--id", "1"], ["--installed", "1.0"], ["--id", "1", "--installed", ""],
    ] {
      let result = try Tool().run(["app-update"] + words)
      #expect(result.status == 2)
      #expect(
        result.errors.components(separatedBy: "See hostedcontent app-update --help").count == 2,
        "\(result.errors)")
    }
  }
}
