import Glibc
import HostedConcurrency
import HostedContent

/// Progress on standard error: bars on a terminal, otherwise a line for each state and each 10 %.
final class ProgressLines: Sendable {
  private let console: Console
  private let state = Serialized(State())

  private struct State {
    /// The downloads with bars, in the order in which they became active.
    var active: [Download] = []
    var drawnLines = 0
    /// Set when the command ends; later reports are not shown.
    var isEnded = false
    var lastLines: [DownloadID: (state: DownloadState, tenths: Int)] = [:]
  }

  init(_ console: Console) { self.console = console }

  func show(_ downloads: [Download]) {
    state.use { state in
      guard !state.isEnded else { return }
      for download in downloads {
        if console.showsBars {
          if download.state != .active {
            state.active.removeAll { $0 == download }
          } else if !state.active.contains(download) {
            state.active.append(download)
          }
        } else if let line = Self.line(download, &state) {
          console.note(line)
        }
      }
      redraw(&state)
    }
  }

  /// Prints a result above the bars.
  func print(_ text: String) { above { console.print(text) } }

  func report(_ error: ContentError) { above { console.report(error) } }

  func end() {
    state.use { state in
      erase(&state)
      state.active = []
      state.isEnded = true
    }
  }

  private func above(_ body: () -> Void) {
    state.use { state in
      erase(&state)
      body()
      redraw(&state)
    }
  }

  // MARK: Bars

  private func redraw(_ state: inout State) {
    guard console.showsBars else { return }
    erase(&state)
    // Asked each time, because the terminal may be resized. Without wrapping, a bar stays one line
    // even if it is too long, and can be erased.
    let lines = ProgressBar.lines(state.active.map(Self.bar), on: TerminalSize(of: STDERR_FILENO))
    console.draw(lines.map { "\u{1b}[2K\u{1b}[?7l\($0)\u{1b}[?7h\n" }.joined())
    state.drawnLines = lines.count
  }

  private func erase(_ state: inout State) {
    guard console.showsBars, state.drawnLines > 0 else { return }
    console.draw("\u{1b}[\(state.drawnLines)A\u{1b}[J")
    state.drawnLines = 0
  }

  private static func bar(_ download: Download) -> ProgressBar {
    ProgressBar(
      name: "\(download.contentIdentifier) \(download.contentVersion)",
      progress: download.progress, details: details(download))
  }

  private static func time(_ remaining: Duration?) -> String {
    guard let remaining, remaining < .seconds(360_000) else { return "estimating time" }
    let whole = Int(remaining.inSeconds.rounded(.up))
    return whole < 60 ? "\(whole) s left" : "\(whole / 60) min \(whole % 60) s left"
  }

  // MARK: Lines

  /// A line about `download` if its state changed or it advanced by 10 %; nil otherwise.
  private static func line(_ download: Download, _ state: inout State) -> String? {
    let tenths = Int((download.progress * 10).rounded(.down))
    let last = state.lastLines.updateValue((download.state, tenths), forKey: download.id)
    let name = "\(download.contentIdentifier) \(download.contentVersion)"
    if last?.state != download.state {
      return download.state == .waiting ? nil : "\(name): \(download.state)\(fetched(download))"
    }
    guard download.state == .active, last?.tenths != tenths else { return nil }
    let percent = Int((download.progress * 100).rounded(.down))
    return "\(name): \(percent) % \(details(download))"
  }

  /// The fetched part of an installed package, and the reason if it is the whole package.
  private static func fetched(_ download: Download) -> String {
    guard download.state == .finished else { return "" }
    let amount = Console.bytes(download.statistics.bytesFetched)
    let reason = download.statistics.wholePackages.keys.first
    return ", \(amount) of \(Console.bytes(download.expectedContentLength)) fetched"
      + (reason.map { " (the whole package: \($0))" } ?? "")
  }

  private static func details(_ download: Download) -> String {
    "of \(Console.bytes(download.expectedContentLength)), \(time(download.timeRemaining))"
  }
}

struct ProgressBar: Hashable {
  /// The name of the operation; if it is too long, its end is shown, where names differ.
  let name: String
  /// From 0 to 1.
  let progress: Double
  /// The text after the percentage, if there is room.
  let details: String

  private static let shortest = 8
  private static let longest = 60

  /// The lines of the first `bars`, which leave a row for the cursor.
  ///
  /// Further lines would scroll the terminal, and could not be erased.
  static func lines(_ bars: [ProgressBar], on terminal: TerminalSize) -> [String] {
    bars.prefix(max(1, terminal.rows - 1)).map { $0.line(columns: terminal.columns) }
  }

  /// The line, with at most `columns` characters; the minimum is 24.
  func line(columns: Int) -> String {
    let name = name.printable()
    let details = details.printable()
    let columns = max(columns, 24)
    let percent = "\(Int((progress * 100).rounded(.down))) %"
    let frame = " [] ".count
    for amount in ["\(percent) \(details)", percent] {
      let room = columns - name.count - frame - amount.count
      if room >= Self.shortest { return "\(name) [\(bar(min(room, Self.longest)))] \(amount)" }
    }
    let kept = columns - Self.shortest - frame - percent.count - 1
    return "…\(name.suffix(kept)) [\(bar(Self.shortest))] \(percent)"
  }

  private func bar(_ width: Int) -> String {
    let filled = min(width, max(0, Int((progress * Double(width)).rounded(.down))))
    return String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
  }
}

struct TerminalSize {
  var columns = 80
  var rows = 24
}

extension TerminalSize {
  /// The size of the terminal at `descriptor`; the usual one if it is unknown.
  init(of descriptor: Int32) {
    self.init()
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return }
    if size.ws_col > 0 { columns = Int(size.ws_col) }
    if size.ws_row > 0 { rows = Int(size.ws_row) }
  }
}
