/// The history of a schedule: a digest of every step, and lines where somebody wants to read them.
package final class Trace {
  /// FNV-1a over every step, so that two histories can be compared.
  package private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
  private let detail: Detail
  private let tell: (String) -> Void

  /// What is kept as lines.
  package enum Detail: Sendable {
    case nothing, events, steps
  }

  /// `tell` gets the lines as they are written.
  package init(_ detail: Detail = .nothing, tell: @escaping (String) -> Void = { _ in }) {
    self.detail = detail
    self.tell = tell
  }

  /// A step.
  func note(_ time: UInt64, _ name: () -> String) {
    add(time)
    guard detail != .nothing else { return }
    let name = name()
    for byte in name.utf8 { add(UInt64(byte)) }
    if detail == .steps { tell("      \(Self.text(time)) \(name)") }
  }

  /// Something that a reader wants to know.
  func event(_ text: @autoclosure () -> String) {
    add(1)
    if detail != .nothing { tell("  \(text())") }
  }

  private func add(_ value: UInt64) { digest = (digest ^ value) &* 0x100_0000_01b3 }

  private static func text(_ time: UInt64) -> String {
    let milliseconds = (time - 1_000_000_000) / 1_000_000
    return "\(milliseconds) ms"
  }
}

/// What was fetched and must not be fetched again.
struct FetchWatch {
  /// Offsets of pieces by the download's staging folder: what was handed over, and what is durable.
  private var fetched: [String: Set<Int64>] = [:]
  private var durable: [String: Set<Int64>] = [:]
  /// Downloads that this process has touched, and those of them that a failed sync has concerned.
  private var seen: Set<String> = []
  private var doomed: Set<String> = []

  mutating func crash() { fetched = durable }

  mutating func note(_ download: String) { seen.insert(download) }

  mutating func beginProcess() {
    seen = []
    doomed = []
  }

  /// The staging folder of a download is removed, if `path` is one.
  mutating func discards(_ path: String) {
    let prefix = "\(World.libraryPath)/staging/"
    guard path.hasPrefix(prefix) else { return }
    let name = String(path.dropFirst(prefix.count))
    fetched[name] = nil
    durable[name] = nil
    doomed.remove(name)
  }

  mutating func synced() { durable = fetched }

  mutating func forgetEverything() {
    fetched = [:]
    durable = [:]
    doomed.formUnion(seen)
  }

  /// False when the piece was handed over before.
  func mayFetch(_ offset: Int64, for download: String) -> Bool {
    fetched[download]?.contains(offset) != true
  }

  mutating func didFetch(_ offset: Int64, for download: String) {
    // What a failed sync has concerned is emptied before the next attempt.
    if !doomed.contains(download) { fetched[download, default: []].insert(offset) }
  }
}
