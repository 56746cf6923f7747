import HostedModel
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The steps of the demonstration, as a user or a script would run them.
@Suite("The story of a book")
struct StoryTests {
  @Test("From an empty folder to 1.0, 1.1 and 1.10, by number, with every version readable", .slow)
  func versions() throws {
    let tool = try Tool.withBook()
    let first = try tool.succeed(
      "get", Tool.chapter1, Tool.chapter2, "--store", "store", "--library", "lib")
    #expect(
      Set(first.output.split(separator: "\n")) == [
        "\(Tool.chapter1) 1.0: installed", "\(Tool.chapter2) 1.0: installed",
      ])
    for (version, before) in [("1.1", "1.0"), ("1.10", "1.1")] {
      let published = try tool.succeed(
        "store", "publish", "store", Tool.sample("chapter1-\(version).pkg"), "--release-notes", "N")
      #expect(published.output.hasPrefix("\(Tool.chapter1) \(version): published"))
      let updates = try #require(
        try tool.succeed("updates", "--store", "store", "--library", "lib", "--json").json()[
          "updates"] as? [[String: Any]])
      #expect(updates.count == 1)
      #expect(
        Set(updates.first?.keys.map(\.self) ?? []) == [
          "productIdentifier", "contentIdentifier", "installed", "offered", "bytesToMove",
          "bytesInFull",
        ])
      #expect(updates.first?["productIdentifier"] as? String == Tool.chapter1)
      #expect(updates.first?["installed"] as? String == before)
      #expect(updates.first?["offered"] as? String == version)
      #expect(updates.first?["bytesToMove"] as? Int ?? 0 > 0)
      try tool.succeed("update", "--store", "store", "--library", "lib", "--require-update")
      #expect(try tool.current() == [Tool.chapter1: version, Tool.chapter2: "1.0"])
      let home = "lib/products/\(Tool.chapter1)"
      let link = try FileManager.default.destinationOfSymbolicLink(
        atPath: tool.folder.path("\(home)/current"))
      #expect(link == version)
      for old in ["1.0", "1.1"] where old != version {
        let page = "Contents/page-1.txt"
        guard tool.exists("\(home)/\(old)") else { continue }
        #expect(
          try tool.text("\(home)/\(old)/\(page)")
            == String(
              contentsOfFile: Tool.sample("sources/chapter1-\(old)/\(page)"), encoding: .utf8))
      }
      #expect(tool.exists("\(home)/1.0/Contents/page-1.txt"))
    }
    // An update is a restored transaction, and no transaction remains.
    #expect(try tool.unfinished().isEmpty)
    #expect(
      try tool.succeed("verify", "--library", "lib").output.hasPrefix("4 versions verified, 0"))
  }

  @Test("Without updates, the exit status is 0, or 3 with --require-update")
  func requireUpdate() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    for command in ["update", "updates"] {
      #expect(
        try tool.succeed(command, "--store", "store", "--library", "lib").output
          == "Everything is up to date.\n")
      let result = try tool.run(
        command, "--store", "store", "--library", "lib", "--require-update", "--quiet")
      #expect(result.status == 3)
      #expect(result.errors == "")
    }
  }

  @Test("A second get succeeds without fetching, even if the archives are missing")
  func idempotent() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, Tool.chapter1, "--store", "store", "--library", "lib")
    let grants = try tool.grants()
    try FileManager.default.removeItem(
      atPath: tool.folder.path("store/targets/\(Tool.chapter1)/1.0"))
    let again = try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(again.output == "\(Tool.chapter1) 1.0: installed\n")
    #expect(again.errors == "")
    #expect(try tool.grants() == grants, "nothing is bought twice")
    let finished = try tool.succeed("queue", "--library", "lib", "--finished", "--json").json()
    #expect((finished["transactions"] as? [Any])?.count == 1)
  }

  @Test("Each unavailable identifier is reported, and the others are installed", .slow)
  func severalIdentifiers() throws {
    let tool = try Tool.withBook()
    for text in ["../x", "", "a b", String(repeating: "a", count: 300)] {
      try tool.fail(
        "get", text, Tool.chapter1, "--store", "store", "--library", "lib", status: 2,
        saying: [text.count == 300 ? "300 bytes" : "“\(text)” is not a product identifier"])
    }
    #expect(!tool.exists("lib"))
    let result = try tool.fail(
      "get", Tool.chapter1, "com.example.unknown", "nope", Tool.chapter2, "--store", "store",
      "--library", "lib", saying: ["com.example.unknown", "nope"])
    #expect(
      result.errors.split(separator: "\n").filter { $0.hasPrefix("hostedcontent:") }.count == 2)
    #expect(result.errors.contains("\n2 products installed, 2 failed\n"), "\(result.errors)")
    #expect(try tool.current() == [Tool.chapter1: "1.0", Tool.chapter2: "1.0"])
    try tool.fail(
      "products", "../x", Tool.chapter1, "--store", "store", status: 2, saying: ["“../x”"])
    try tool.fail("products", "nope", Tool.chapter1, "--store", "store", saying: ["nope"])
    try tool.fail(
      "verify", "nope", Tool.chapter1, "--library", "lib", saying: ["nope is not installed"])
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.1.pkg"))
    try tool.fail(
      "update", "nope", Tool.chapter1, "--store", "store", "--library", "lib",
      saying: ["nope is not installed"])
    #expect(try tool.current()[Tool.chapter1] == "1.1")
  }

  @Test("A product without content is bought once, even if requested repeatedly")
  func noContent() throws {
    let tool = try Tool.withStore()
    try tool.succeed("store", "add", "store", "com.example.club")
    for _ in 1...2 {
      try tool.succeed("get", "com.example.club", "--store", "store", "--library", "lib")
    }
    let finished = try tool.succeed("queue", "--library", "lib", "--finished", "--json").json()
    #expect((finished["transactions"] as? [Any])?.count == 1)
  }

  @Test("Every readable format, many files and a product without content are installed", .slow)
  func forms() throws {
    let tool = try Tool()
    let forms = ["xar", "zip", "tar", "tar-gz", "tar-xz", "tar-zst", "tar-bz2"]
    try tool.succeed("store", "init", "store")
    let published = try tool.run(
      ["store", "publish", "store", Tool.sample("many-files.pkg")]
        + forms.map { Tool.sample("formats/\($0).pkg") })
    #expect(published.status == 0)
    #expect(published.output.split(separator: "\n").count == 8)
    try tool.succeed(
      "store", "add", "store", "com.example.club", "--title", "Book club", "--price", "4.99")
    let products = forms.map { "com.example.forms.\($0)" } + ["com.example.many-files"]
    let result = try tool.run(
      ["get", "com.example.club"] + products + ["--store", "store", "--library", "lib"])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("com.example.club: bought"))
    #expect(Set(try tool.current().keys) == Set(products))
    #expect(
      try tool.succeed("verify", "--library", "lib").output.hasPrefix("8 versions verified, 0"))
    let listed = try tool.succeed("products", "--store", "store").output
    #expect(listed.contains("4.99 USD") && listed.contains("Book club"))
  }

  @Test("Packages are built, inspected, validated and unpacked to the original files", .slow)
  func packages() throws {
    let tool = try Tool()
    let source = Tool.sample("sources/chapter1-1.0")
    try tool.succeed(
      "package", source, "--output", "a.pkg", "--product", "com.example.a", "--content-version",
      "2.0")
    let report = try tool.succeed("inspect", "a.pkg", "--json").json()
    #expect(report["productIdentifier"] as? String == "com.example.a")
    #expect(report["contentVersion"] as? String == "2.0")
    #expect(report["findings"] as? Int == 0)
    #expect(try tool.succeed("inspect", "a.pkg").output.contains("Contents/page-1.txt"))
    #expect(try tool.succeed("validate", "a.pkg").output == "a.pkg: valid\n")
    #expect(try tool.succeed("validate", "a.pkg", "--json").json()["isValid"] as? Bool == true)
    for (folder, option) in [("content", []), ("archive/", ["--any-archive"])] {
      let result = try tool.run(["unpack", "a.pkg", "--into", folder] + option)
      #expect(result.status == 0, "\(result.errors)")
      let page = "Contents/de.lproj/ContentInfo.strings"
      #expect(
        try tool.text("\(folder)/\(page)")
          == String(contentsOfFile: "\(source)/\(page)", encoding: .utf8))
      try tool.fail("unpack", "a.pkg", "--into", folder, saying: ["already exists"])
    }
    // The same input gives the same bytes.
    try tool.succeed(
      "package", source, "--output", "b.pkg", "--product", "com.example.a", "--content-version",
      "2.0")
    #expect(
      FileManager.default.contentsEqual(
        atPath: tool.folder.path("a.pkg"), andPath: tool.folder.path("b.pkg")))
  }

  @Test("Results go to standard output, messages to standard error, and --quiet disables them")
  func quiet() throws {
    let tool = try Tool.withBook()
    let loud = try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(loud.output == "\(Tool.chapter1) 1.0: installed\n")
    #expect(loud.errors.contains("\(Tool.chapter1) 1.0: active\n"))
    #expect(loud.errors.contains("\(Tool.chapter1) 1.0: finished, "))
    #expect(!loud.errors.contains("\u{1b}"), "no escape codes without a terminal")
    let quiet = try tool.succeed(
      "get", Tool.chapter2, "--store", "store", "--library", "lib", "--quiet")
    #expect(quiet.output == "\(Tool.chapter2) 1.0: installed\n")
    #expect(quiet.errors == "")
  }

  @Test("JSON has stable keys, and empty lists", .slow)
  func documents() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(
      try tool.succeed("queue", "--library", "lib", "--json").json().keys.map(\.self) == [
        "transactions"
      ])
    #expect(try tool.unfinished().isEmpty)
    let list = try tool.succeed("list", "--library", "lib", "--json").json()
    #expect(list.keys.map(\.self) == ["contents"])
    let entry = try #require((list["contents"] as? [[String: Any]])?.first)
    #expect(
      Set(entry.keys) == [
        "contentIdentifier", "version", "current", "path", "bytes", "filesMissing",
      ])
    let path = try #require(entry["path"] as? String)
    #expect(FileManager.default.fileExists(atPath: "\(path)/Contents/page-1.txt"))
    #expect(entry["bytes"] as? Int ?? 0 > 0)
    let updates = try tool.succeed("updates", "--store", "store", "--library", "lib", "--json")
      .json()
    #expect((updates["updates"] as? [Any])?.isEmpty == true)
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.1.pkg"))
    let update =
      try tool.succeed("updates", "--store", "store", "--library", "lib", "--json")
      .json()["updates"] as? [[String: Any]]
    #expect(
      Set(update?.first?.keys.map(\.self) ?? []) == [
        "productIdentifier", "contentIdentifier", "installed", "offered", "bytesToMove",
        "bytesInFull",
      ])
    let verified = try tool.succeed("verify", "--library", "lib", "--json").json()
    #expect(verified["verified"] as? Int == 1)
    #expect((verified["damages"] as? [Any])?.isEmpty == true)
    let products = try tool.succeed("products", "--store", "store", "--json").json()
    #expect((products["products"] as? [Any])?.count == 2)
    let stored = try tool.succeed("store", "list", "store", "--json").json()
    #expect((stored["products"] as? [Any])?.count == 2)
    let unknown = try tool.fail("products", "nope", "--store", "store", "--json").json()
    #expect(unknown["invalidProductIdentifiers"] as? [String] == ["nope"])
  }

  @Test("An invalid identifier is a usage error, also without a library")
  func invalidIdentifiers() throws {
    let tool = try Tool()
    try tool.fail("verify", "../book", "--library", "nowhere", status: 2)
    try tool.fail("repair", "../book", "--library", "nowhere", "--store", "store", status: 2)
  }

  @Test("A role of a rotation can be named once")
  func repeatedRole() throws {
    let tool = try Tool.withBook()
    let keys = try tool.tree("store.keys")
    try tool.fail("store", "rotate", "store", "timestamp", "timestamp", status: 2)
    #expect(try tool.tree("store.keys") == keys)
  }

  @Test("An account's grants are in the given file, and another account buys separately", .slow)
  func accounts() throws {
    let tool = try Tool.withBook()
    let common = ["--store", "store", "--library", "lib", "--ledger", "grants/all.sqlite"]
    #expect(try tool.run(["get", Tool.chapter1, "--account", "joe"] + common).status == 0)
    #expect(try tool.grants("grants/all.sqlite", account: "joe").count == 1)
    #expect(!tool.exists("lib/ledger.sqlite"))
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.1.pkg"))
    // Joe's purchase is not an update for Ann, and the error says so. She can buy it.
    let refused = try tool.run(["update", "--account", "ann"] + common)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("--account"))
    #expect(try tool.current()[Tool.chapter1] == "1.0")
    #expect(try tool.run(["get", Tool.chapter1, "--account", "ann"] + common).status == 0)
    #expect(try tool.current()[Tool.chapter1] == "1.1")
    #expect(try tool.grants("grants/all.sqlite", account: "ann").count == 1)
    #expect(try tool.unfinished().isEmpty)
  }

  @Test("A store can be listed, refreshed and published to again with the same bytes")
  func publisher() throws {
    let tool = try Tool.withBook()
    #expect(
      try tool.succeed("store", "refresh", "store").output == "store: nothing expires soon\n")
    #expect(
      try tool.succeed("store", "refresh", "store", "--everything").output
        == "store: renewed targets, snapshot, timestamp\n")
    #expect(
      try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.0.pkg")).output
        == "The store already has these packages.\n")
    #expect(try tool.succeed("store", "list", "store").output.contains(Tool.chapter2))
    #expect(try tool.run("products", "--store", "file://\(tool.folder.path("store"))").status == 0)
    #expect(
      try tool.succeed(
        "products", "--store", "store", "--root", "store/metadata/1.root.json"
      ).output.contains(Tool.chapter1))
  }

  @Test("Titles cannot control a terminal")
  func controlCharacters() throws {
    let tool = try Tool.withBook()
    try tool.fail(
      "store", "add", "store", "com.example.trick", "--title", "a\u{1b}[2Jb", status: 2,
      saying: ["control character"])
    // The bidirectional override is not a control character.
    try tool.succeed("store", "add", "store", "com.example.trick", "--title", "a\u{202e}[2Jb")
    for words in [["products", "--store", "store"], ["store", "list", "store"]] {
      let output = try tool.run(words).output
      #expect(!output.unicodeScalars.contains("\u{202e}"))
      #expect(output.contains("[2Jb"))
    }
  }
}
