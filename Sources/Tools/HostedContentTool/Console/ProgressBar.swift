import HostedModel
import Glibc

/// A progress bar in one line of a terminal.
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

/// The number of characters that a terminal shows.
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
