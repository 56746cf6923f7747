import HostedModel
import Foundation
import HostedTestSupport
import Testing

@testable import HostedContentTool

/// The output on a terminal.
@Suite("On a terminal")
struct TerminalTests {
  static let script = "/usr/bin/script"

  /// Whether terminals are available: their file system is mounted.
  static let hasTerminals = FileManager.default.fileExists(atPath: "/dev/pts/ptmx")

  /// Runs the tool with a terminal as its outputs and returns the output.
  private func onTerminal(_ tool: Tool, _ words: String, term: String) throws -> String {
    let words = [
      "--quiet", "--return", "--command", "'\(Tool.path)' \(words)",
      tool.folder.path("typescript"),
    ]
    let end = try Program.run(
      Self.script, words, environment: ["TERM": term], folder: tool.folder.path)
    #expect(end.status == 0, "\(end.output)")
    return try tool.text("typescript")
  }

  @Test(
    "A progress bar fits terminals of any width and shows the progress",
    arguments: [1, 24, 40, 80, 200, 1000], [0.0, 0.47, 1.0])
  func fitting(columns: Int, progress: Double) {
    for name in ["a 1.0", "com.example.book.chapter1 1.10", String(repeating: "x", count: 300)] {
      let bar = ProgressBar(name: name, progress: progress, details: "of 1.2 MB, 5 s left")
      let line = bar.line(columns: columns)
      #expect(line.count <= max(columns, 24), "\(line)")
      #expect(line.contains("] \(Int(progress * 100)) %"))
      #expect(line.hasPrefix(name) || line.hasPrefix("…") && columns < 305)
      #expect(columns < 80 || name.count > 40 || line.hasSuffix("5 s left"))
      #expect(line.contains("#") == (progress > 0) && line.contains("-") == (progress < 1))
    }
  }

  @Test("Only the bars that fit on the terminal are shown", arguments: [1, 2, 24, 100])
  func rows(rows: Int) {
    let bars = (1...32).map { ProgressBar(name: "\($0)", progress: 0, details: "") }
    let lines = ProgressBar.lines(bars, on: TerminalSize(columns: 80, rows: rows))
    #expect(lines.count == min(32, max(1, rows - 1)))
    #expect(lines.first == bars[0].line(columns: 80))
  }

  @Test(
    "A progress bar is shown and removed; a dumb terminal gets lines, --quiet nothing",
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
