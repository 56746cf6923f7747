import ContentModel
import Foundation
import TestSupport
import Testing

/// What a person at a terminal sees.
@Suite("On a terminal")
struct TerminalTests {
  static let script = "/usr/bin/script"

  /// Whether terminals can be opened here: their file system is mounted.
  static let hasTerminals = FileManager.default.fileExists(atPath: "/dev/pts/ptmx")

  /// Runs the tool with a terminal as its outputs and returns what was written to it.
  private func onTerminal(_ tool: Tool, _ words: String, term: String) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: Self.script)
    process.arguments = [
      "--quiet", "--return", "--command", "'\(Tool.path)' \(words)",
      tool.folder.path("typescript"),
    ]
    process.currentDirectoryURL = URL(filePath: tool.folder.path)
    process.environment = ProcessInfo.processInfo.environment.merging(["TERM": term]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return try tool.text("typescript")
  }

  @Test(
    "A bar shows the way and is taken away; a dumb terminal gets lines, quiet gets nothing",
    .enabled(
      if: FileManager.default.isExecutableFile(atPath: script) && hasTerminals,
      "script (package bsdutils) or /dev/pts is missing"))
  func bar() throws {
    let tool = try Tool.withBook()
    let get = "get \(Tool.chapter1) --store store --library"
    let drawn = try onTerminal(tool, "\(get) bars", term: "xterm")
    #expect(drawn.contains("\(Tool.chapter1) 1.0 ["))
    #expect(drawn.contains("\u{1b}[1A\u{1b}[J"), "bars are erased")
    #expect(drawn.contains("\(Tool.chapter1) 1.0: installed"))
    #expect(!drawn.contains(": active"))
    let dumb = try onTerminal(tool, "\(get) lines", term: "dumb")
    #expect(dumb.contains(": active") && !dumb.contains("\u{1b}"))
    let quiet = try onTerminal(tool, "\(get) quiet --quiet", term: "xterm")
    #expect(!quiet.contains("\u{1b}") && !quiet.contains("1.0 ["))
  }
}
