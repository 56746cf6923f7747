import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// The integration with shells and `man`.
@Suite("In a shell", .timeLimit(.hang))
struct ShellTests {
  private static func isThere(_ program: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: program)
  }

  /// Returns bash's completions for `words`.
  ///
  /// The cursor is at the last word, or `back` words before it.
  private func offers(_ words: [String], in tool: Tool, back: Int = 0) throws -> Set<String> {
    let script = tool.folder.path("completion.bash")
    if !FileManager.default.fileExists(atPath: script) {
      try Data(tool.succeed("completion", "bash").output.utf8).write(to: URL(filePath: script))
    }
    // compopt only works in a real completion.
    let program = """
      compopt() { :; }
      source ./completion.bash
      COMP_WORDS=("$@")
      COMP_CWORD=$(($# - 1 - \(back)))
      _hostedcontent
      ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
      """
    let result = try tool.run(
      ["--norc", "-uc", program, "bash", Tool.path] + words, program: "/bin/bash")
    #expect(result.status == 0 && result.errors == "", "\(result.errors)")
    return Set(result.output.split(separator: "\n").map(String.init))
  }

  @Test("With closed standard streams, output is an error and does not go to another file", .slow)
  func closedStreams() throws {
    let tool = try Tool.withBook()
    let run = { (end: String, library: String) in
      try tool.run(
        [
          "-c", "exec \"$@\" \(end)", "sh", Tool.path, "get", Tool.chapter1, "--store", "store",
          "--library", library,
        ], program: "/bin/sh")
    }
    let silent = try run(">&-", "lib")
    #expect(silent.status == 1)
    #expect(silent.errors.contains("standard output: Bad file descriptor"), "\(silent.errors)")
    #expect(try run("<&- >&- 2>&-", "lib2").status == 1)
    #expect(try run("<&- 2>&-", "lib3").status == 0)
    for library in ["lib", "lib2", "lib3"] { try tool.succeed("verify", "--library", library) }
  }

  @Test("bash completes commands, second words and options, and readline completes paths", .slow)
  func bash() throws {
    let tool = try Tool()
    #expect(try offers(["pa"], in: tool) == ["package"])
    #expect(try offers([""], in: tool).isSuperset(of: ["store", "get", "completion", "help"]))
    let group: Set = ["retire", "refresh", "repair", "recover", "receipt-key"]
    #expect(try offers(["store", "re"], in: tool) == group)
    #expect(try offers(["get", "a", "--lib"], in: tool) == ["--library"])
    #expect(try offers(["store", "publish", "s", "--ti"], in: tool) == ["--title"])
    #expect(try offers(["get", "--library", "--"], in: tool).isEmpty)
    #expect(try offers(["unknown", "--"], in: tool).isEmpty)
    for command in CommandTable.commands {
      let expected = Set(command.allOptions.map(\.name))
      #expect(try offers(command.words + ["--"], in: tool) == expected, "\(command.name)")
    }
  }

  @Test("bash completes folders, packages, installed versions and fixed words", .slow)
  func bashOperands() throws {
    let tool = try Tool.withBook()
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.10.pkg"))
    let library = ["--library", "lib"]
    try tool.succeed("get", Tool.chapter1, Tool.chapter2, "--store", "store", "--library", "lib")
    try tool.write("", to: "one.pkg")
    try tool.write("", to: "two words.pkg")
    try tool.write("", to: "notes.txt")
    let folders: Set = ["store", "store.keys", "lib"]
    let packages = folders.union(["one.pkg", "two words.pkg"])
    let installed: Set = [Tool.chapter1, Tool.chapter2]
    for (words, expected) in [
      (["store", "list", ""], folders), (["store", "publish", ""], folders),
      (["store", "publish", "store", ""], packages),
      (["store", "publish", "store", "--title", "T", "one.pkg", ""], packages),
      (["inspect", ""], packages), (["inspect", "o"], ["one.pkg"]), (["package", ""], folders),
      (["get", "x", "--library", ""], folders), (["get", "--store=x", "--library", "l"], ["lib"]),
      (["remove"] + library + [""], installed),
      (["verify"] + library + [Tool.chapter1, ""], installed),
      (["repair", "--library", "=", "lib", "com.example.book.chapter2"], [Tool.chapter2]),
      (["pin"] + library + [""], installed), (["pin"] + library + [Tool.chapter1, ""], ["1.10"]),
      (["remove"] + library + [Tool.chapter2, ""], ["1.0"]), (["remove", ""], []),
      (["remove", "--library", "nothing", ""], []), (["get"] + library + [""], []),
      (["completion", ""], ["bash", "zsh"]),
      (["store", "rotate", "store", ""], ["root", "targets", "snapshot", "timestamp"]),
      (["serve", ""], folders), (["list", ""], []), (["store", "add", "store", ""], []),
      (["get", "--account", ""], []),
    ] as [([String], Set<String>)] {
      #expect(try offers(words, in: tool) == expected, "\(words)")
    }
    #expect(try offers(["remove", ""] + library, in: tool, back: 2) == installed)
  }

  @Test(
    "zsh completes folders, packages and installed versions", .slow,
    .enabled(if: isThere("/usr/bin/zsh"), "zsh is missing: see Scripts/test-packages.txt"))
  func zshOperands() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    let script = try tool.succeed("completion", "zsh").output
    try Data(script.utf8).write(to: URL(filePath: tool.folder.path("_hostedcontent")))
    func run(_ program: String) throws -> [String] {
      let path = URL(filePath: Tool.path).deletingLastPathComponent().path(percentEncoded: false)
      let result = try tool.run(
        ["-fc", "path=(\(path) $path)\n\(program)"], program: "/usr/bin/zsh")
      #expect(result.status == 0 && result.errors == "", "\(result.errors)")
      return result.output.split(separator: "\n").map(String.init)
    }
    // Outside of a completion, _arguments prints its arguments.
    func specifications(_ words: String) throws -> [String] {
      try run(
        """
        _arguments() { print -rl -- "$@" }
        words=(hostedcontent \(words)) CURRENT=9
        source ./_hostedcontent
        """)
    }
    #expect(try specifications("remove").contains("1:ID:_hostedcontent_installed"))
    #expect(try specifications("remove").contains("2:[VERSION]:_hostedcontent_versions"))
    #expect(try specifications("verify").contains("*:[ID…]:_hostedcontent_installed"))
    #expect(try specifications("store publish").contains("1:STORE:_files -/"))
    #expect(try specifications("store publish").contains("*:FILE.pkg…:_files -g \"*.pkg\""))
    let offered = try run(
      """
      _arguments() { }
      compadd() { shift; print -rl -- "$@" }
      words=(hostedcontent remove) CURRENT=9
      source ./_hostedcontent
      typeset -A opt_args=(--library lib)
      line=(\(Tool.chapter1))
      _hostedcontent_installed
      _hostedcontent_versions
      """)
    #expect(offered == [Tool.chapter1, "1.0"])
  }

  @Test(
    "The completion for zsh is a valid script with every command and option",
    .enabled(if: isThere("/usr/bin/zsh"), "zsh is missing: see Scripts/test-packages.txt"))
  func zsh() throws {
    let tool = try Tool()
    let script = try tool.succeed("completion", "zsh").output
    try Data(script.utf8).write(to: URL(filePath: tool.folder.path("_hostedcontent")))
    let result = try tool.run(["-n", "_hostedcontent"], program: "/usr/bin/zsh")
    #expect(result.status == 0 && result.errors == "", "\(result.errors)")
    #expect(script.hasPrefix("#compdef hostedcontent\n"))
    for command in CommandTable.commands {
      let row = try #require(
        script.range(of: "\n    '\(command.name)')\n"), "\(command.name)")
      let end = try #require(script.range(of: ";;", range: row.upperBound..<script.endIndex))
      let body = script[row.upperBound..<end.lowerBound]
      for option in command.allOptions { #expect(body.contains("'*\(option.name)")) }
    }
  }

  @Test(
    "The man page has no warnings, and has every command and option",
    .enabled(if: isThere("/usr/bin/man"), "man is missing: see Scripts/test-packages.txt"))
  func manual() throws {
    let tool = try Tool()
    let page = try tool.succeed("manual").output
    try Data(page.utf8).write(to: URL(filePath: tool.folder.path("page.1")))
    let result = try tool.run(
      ["--warnings", "--locale=C", "-l", "page.1"], program: "/usr/bin/man",
      environment: ["MANWIDTH": "200", "MANROFFOPT": "", "LC_ALL": "C.UTF-8"])
    #expect(result.status == 0 && result.errors == "", "\(result.errors)")
    for command in CommandTable.commands {
      #expect(result.output.contains("hostedcontent \(command.name)"))
      for option in command.options { #expect(result.output.contains(option.name)) }
    }
  }

  @Test("An unsupported shell is wrong usage")
  func unknownShell() throws {
    try Tool().fail("completion", "fish", status: 2, saying: ["fish"])
  }

  @Test("Scripts/install installs tool, completions and man page under an existing or new prefix")
  func install() throws {
    let tool = try Tool()
    let script = SourceTree.path("Scripts/install")
    let result = try tool.run(
      ["new/prefix"], program: script, environment: ["HOSTEDCONTENT_TOOL": Tool.path])
    #expect(result.status == 0, "\(result.errors)")
    for file in [
      "share/bash-completion/completions/hostedcontent", "share/zsh/site-functions/_hostedcontent",
      "share/man/man1/hostedcontent.1",
    ] {
      let path = tool.folder.path("new/prefix/\(file)")
      #expect(
        try String(contentsOfFile: path, encoding: .utf8).contains("hostedcontent"), "\(file)")
    }
    let installed = try tool.run(
      ["--version"], program: tool.folder.path("new/prefix/bin/hostedcontent"))
    #expect(installed.output == "\(CommandTable.versionLine)\n")
    #expect(try tool.run([], program: script).status == 2)
  }
}
