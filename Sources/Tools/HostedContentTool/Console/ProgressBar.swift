import ContentModel
import Glibc

/// One line that shows how far something is, made for a terminal's width.
struct ProgressBar: Hashable {
  /// What is under way; its end is kept when there is no room, since names differ there.
  let name: String
  /// 0 to 1.
  let progress: Double
  /// What is said behind the percentage where there is room.
  let details: String

  private static let shortest = 8
  private static let longest = 60

  /// The line, at most `columns` characters; below 24 columns it is as for 24.
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

/// The columns of the terminal at `descriptor`; 80 where it does not say.
func terminalColumns(_ descriptor: Int32) -> Int {
  var size = winsize()
  guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return Int(size.ws_col)
}
