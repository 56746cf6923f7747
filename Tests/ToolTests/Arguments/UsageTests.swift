import HostedModel
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// How to call the tool, for every command.
@Suite("Usage", .long)
struct UsageTests {
  static let names = CommandTable.commands.map(\.name)
  /// Options that commands require, except for those in `optional`.
  static let required = ["--store", "--library", "--into", "--output", "--installed", "--at"]
  static let optional = ["products": "--library", "store recover": "--at"]

  @Test(
    "The help of every command shows its options and an example on standard output", .slow,
    arguments: names)
  func help(name: String) throws {
    let tool = try Tool()
    let command = try #require(CommandTable.commands.first { $0.name == name })
    let words = name.split(separator: " ").map(String.init)
    let result = try tool.run(words + ["--help"])
    #expect(result.status == 0)
    #expect(result.errors == "")
    #expect(result.output.hasPrefix("Usage: hostedcontent \(name) "))
    #expect(result.output.contains("Example:\n  hostedcontent \(name)"))
    for option in command.allOptions { #expect(result.output.contains("  \(option.name)")) }
    // Required options are in the first line, and are marked.
    let lines = result.output.split(separator: "\n")
    for option in command.options where Self.required.contains(option.name) {
      guard Self.optional[name] != option.name else { continue }
      #expect(lines.first?.contains(" \(option.name) ") == true, "\(lines.first ?? "")")
      let line = lines.first { $0.hasPrefix("  \(option.name) ") }
      #expect(line?.hasSuffix(" (required)") == true, "\(line ?? "")")
    }
    for line in result.output.split(separator: "\n") { #expect(line.count <= 120, "\(line)") }
    #expect(try tool.run(words + ["-h"]).output == result.output)
    #expect(try tool.run(["help"] + words).output == result.output)
    #expect(try tool.run(words + ["--version"]).output == "hostedcontent 0.9.0\n")
  }

  @Test(
    "Unknown options, missing operands and missing values are usage errors", .slow, arguments: names
  )
  func wrongUsage(name: String) throws {
    let tool = try Tool()
    let words = name.split(separator: " ").map(String.init)
    var wrong = [["--no-such-option"], ["-x"], ["--quiet=yes"]]
    let command = try #require(CommandTable.commands.first { $0.name == name })
    // Without operands and required options.
    if command.operandCount.lowerBound > 0
      || command.options.contains(where: { Self.required.contains($0.name) })
    {
      wrong.append([])
    }
    if command.operandCount.upperBound < 9 {
      wrong.append((0...command.operandCount.upperBound).map { "x\($0)" })
    }
    let valued = command.options.filter { $0.value != nil }
    for option in valued { wrong.append([option.name]) }
    for more in wrong {
      let result = try tool.run(words + more)
      #expect(result.status == 2, "\(words + more)")
      #expect(result.output == "")
      #expect(result.errors.hasPrefix("hostedcontent: "))
      #expect(result.errors.contains("hostedcontent \(name) --help"), "\(result.errors)")
    }
    #expect(try tool.tree().isEmpty, "wrong usage creates nothing")
  }

  @Test(
    "An unknown command is a usage error",
    arguments: [[], ["frobnicate"], ["store"], ["store", "frobnicate"], ["--frobnicate"], [""]])
  func unknownCommand(words: [String]) throws {
    let result = try Tool().run(words)
    #expect(result.status == 2)
    #expect(result.output == "")
    #expect(result.errors.contains("--help"))
  }

  @Test("Help and version are always available")
  func general() throws {
    let tool = try Tool()
    let help = try tool.succeed("--help")
    for name in Self.names { #expect(help.output.contains("  \(name) ")) }
    #expect(help.output.contains("Example:\n"))
    #expect(try tool.succeed("-h").output == help.output)
    #expect(try tool.succeed("help").output == help.output)
    #expect(try tool.succeed("--version").output == "hostedcontent 0.9.0\n")
    for group in [["store", "--help"], ["help", "store"]] {
      #expect(try tool.run(group).output.contains("store publish"))
    }
  }

  @Test("Values can follow an equals sign, and words after two hyphens are operands")
  func spellings() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", "--store=store", "--library=lib", "--", Tool.chapter1)
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    try tool.fail(
      "get", "--store=store", "--library=lib", "--", "--quiet", status: 2, saying: ["“--quiet”"])
  }

  @Test(
    "Empty values, such as from unset variables, are usage errors",
    arguments: ["--store", "--library", "--account", "--ledger", "--root"])
  func emptyValue(option: String) throws {
    let tool = try Tool()
    let result = try tool.run("get", "x", "--store", "s", "--library", "l", option, "")
    #expect(result.status == 2)
    #expect(result.errors.contains(option) || option == "--store", "\(result.errors)")
    #expect(try tool.tree().isEmpty)
  }

  @Test("The timeout is a number of at least 1", arguments: ["0", "-1", "x", "", "1.5"])
  func timeout(value: String) throws {
    try Tool().fail(
      "get", "x", "--store", "s", "--library", "l", "--timeout", value, status: 2,
      saying: ["--timeout"])
  }

  @Test("A store with an unsupported scheme is a usage error that creates nothing")
  func unreadableStore() throws {
    let tool = try Tool()
    for store in ["gopher://localhost/store", "ftp://x/y", "file://elsewhere/"] {
      try tool.fail("get", "x", "--store", store, "--library", "lib", status: 2, saying: [store])
      try tool.fail("products", "--store", store, status: 2, saying: [store])
    }
    #expect(!tool.exists("lib"))
  }

  @Test(
    "Network options are checked before anything is created",
    arguments: [
      ("--limit-rate", "fast"), ("--limit-rate", "0"), ("--connections", "0"),
      ("--header", "no-colon"), ("--mirror", "/a/folder"), ("--attempts", "x"),
      ("--allow-plain-http", "store.example.com"), ("--allow-plain-http", "https://h/"),
    ])
  func networkOptions(option: String, value: String) throws {
    let tool = try Tool()
    try tool.fail(
      "get", "x", "--store", "http://127.0.0.1:1/", "--library", "lib", option, value, status: 2,
      saying: [option == "--mirror" ? "mirror" : option])
    #expect(!tool.exists("lib") || option == "--mirror")
  }

  @Test(
    "A header that is given twice, in any case, is a usage error", arguments: ["X-Key", "x-key"])
  func headers(name: String) throws {
    let result = try Tool().fail(
      "products", "--store", "http://127.0.0.1:1/", "--header", "X-Key: one", "--header",
      "\(name): two", status: 2, saying: ["--header has \(name) twice"])
    #expect(!result.errors.contains("two"))
  }

  @Test("A failed write of a result is an error, but a closed pipe is not")
  func fullOutput() throws {
    let tool = try Tool.withBook()
    for (target, status) in [("> /dev/full", Int32(1)), ("| true", 0)] {
      let command = "\"$0\" products --store store \(target); exit ${PIPESTATUS[0]}"
      let end = try Program.run("/bin/bash", ["-c", command, Tool.path], folder: tool.folder.path)
      #expect(end.status == status, "\(target)")
    }
  }
}
