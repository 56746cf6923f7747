import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The product details that `store publish` and `store add` accept and print.
@Suite("Descriptions of products")
struct ProductDetailsCommandTests {
  @Test(
    "An invalid title or language tag is wrong usage, and changes nothing", .slow,
    arguments: [
      ["--title", ""], ["--title", "  "], ["--title", "\u{a0}"], ["--title", "Two\nlines"],
      ["--title", "Tab\there"], ["--title", "\u{1b}[31mred"], ["--title", "nul\u{85}"],
      ["--title", "T", "--language", "english"], ["--title", "T", "--language", "e"],
      ["--title", "T", "--language", ""], ["--title", "T", "--language", "en-"],
      ["--title", "T", "--language", "en_US"], ["--title", "T", "--language", "1n"],
      ["--title", "T", "--language", "en-x"], ["--title", "T", "--language", "en-Latin1234"],
    ])
  func refused(words: [String]) throws {
    let tool = try Tool.withBook()
    let before = try tool.tree("store")
    for command in [
      ["store", "add", "store", Tool.chapter1],
      ["store", "publish", "store", Tool.sample("chapter1-1.10.pkg")],
    ] {
      try tool.fail(command + words, status: 2)
    }
    #expect(try tool.tree("store") == before)
  }

  @Test(
    "BCP 47 language tags and titles in every script are accepted", .slow,
    arguments: ["en", "pt-BR", "zh-Hant-TW", "sl-rozaj-1994", "de-419", "yue", "en-u-nu-latn"])
  func accepted(language: String) throws {
    let tool = try Tool.withBook()
    try tool.succeed(
      "store", "add", "store", Tool.chapter1, "--language", language, "--title", "章 👨‍👩‍👧 ‮أ")
    let output = try tool.succeed("products", "--store", "store", "--json").output
    #expect(output.contains("\"\(language)\""))
  }

  @Test("An added description is reported", .slow)
  func onlyDescription() throws {
    let tool = try Tool.withBook()
    let add = ["store", "add", "store"]
    func output(_ words: [String]) throws -> String {
      let result = try tool.run(words)
      #expect(result.status == 0, "\(result.errors)")
      return result.output
    }
    #expect(try output(add + [Tool.club, "--title", "Club"]) == "\(Tool.club): added\n")
    #expect(
      try output(add + [Tool.club, "--title", "Kerho", "--language", "fi"])
        == "\(Tool.club): changed the title (fi)\n")
    #expect(
      try output(add + [Tool.club, "--title", "Kerho", "--language", "fi"])
        == "\(Tool.club): nothing changed\n")
    #expect(
      try output(add + [Tool.club, "--price", "2.99", "--description", "D"])
        == "\(Tool.club): changed the description (en), the price\n")
    let publish = ["store", "publish", "store", Tool.sample("chapter1-1.0.pkg")]
    let same = "The store already has these packages.\n"
    #expect(try output(publish) == same)
    #expect(
      try output(publish + ["--title", "One"]) == same
        + "\(Tool.chapter1): changed the title (en)\n")
    #expect(
      try output(["store", "publish", "store", Tool.sample("many-files.pkg"), "--title", "Many"])
        .contains("changed") == false, "a new product is new in all")
  }
}
