/// The history of a schedule: a digest of all steps, and optional output.
package final class Trace {
  /// FNV-1a of all steps, to compare histories.
  package private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
  private let detail: Detail
  private let log: (String) -> Void

  /// The level of output.
  package enum Detail: Sendable {
    case nothing, events, steps
  }

  /// Creates a trace.
  ///
  /// `log` gets the lines of output.
  package init(_ detail: Detail = .nothing, log: @escaping (String) -> Void = { _ in }) {
    self.detail = detail
    self.log = log
  }

  /// Records a step.
  func note(_ time: UInt64, _ name: () -> String) {
    add(time)
    guard detail != .nothing else { return }
    let name = name()
    for byte in name.utf8 { add(UInt64(byte)) }
    if detail == .steps { log("      \(Self.text(time)) \(name)") }
  }

  /// Records an event for readers.
  func event(_ text: @autoclosure () -> String) {
    add(1)
    if detail != .nothing { log("  \(text())") }
  }

  private func add(_ value: UInt64) { digest = (digest ^ value) &* 0x100_0000_01b3 }

  private static func text(_ time: UInt64) -> String {
    let milliseconds = (time - 1_000_000_000) / 1_000_000
    return "\(milliseconds) ms"
  }
}

/// Detects that pieces are fetched again.
struct FetchWatch {
  /// The offsets of delivered and of durable pieces, by the download's staging folder.
  private var fetched: [String: Set<Int64>] = [:]
  private var durable: [String: Set<Int64>] = [:]
  /// The downloads of this process, and those that a failed sync has affected.
  private var seen: Set<String> = []
  private var doomed: Set<String> = []

  mutating func crash() { fetched = durable }

  mutating func note(_ download: String) { seen.insert(download) }

  mutating func beginProcess() {
    seen = []
    doomed = []
  }

  /// Records the removal of a download's staging folder, if `path` is one.
  mutating func discards(_ path: String) {
    let prefix = "\(World.libraryPath)/staging/"
    guard path.hasPrefix(prefix) else { return }
    let name = String(path.dropFirst(prefix.count))
    forget(name)
    doomed.remove(name)
  }

  mutating func synced() { durable = fetched }

  mutating func forgetEverything() {
    fetched = [:]
    durable = [:]
    doomed.formUnion(seen)
  }

  /// Any piece of this download may be fetched again.
  mutating func forget(_ download: String) {
    fetched[download] = nil
    durable[download] = nil
  }

  /// Returns false if the piece was delivered before.
  func mayFetch(_ offset: Int64, for download: String) -> Bool {
    fetched[download]?.contains(offset) != true
  }

  mutating func didFetch(_ offset: Int64, for download: String) {
    // Staging that a failed sync has affected is emptied before the next attempt.
    if !doomed.contains(download) { fetched[download, default: []].insert(offset) }
  }
}
