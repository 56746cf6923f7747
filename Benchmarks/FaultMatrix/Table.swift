import HostedModel
import Foundation

/// The printed table: one line per row, in the order of the rows, whatever order they end in.
struct Table {
  private let rows: [Faults.Row]
  private var finished: [Int: [Cell.Outcome]] = [:]
  private var printed = 0
  private var runs = 0
  private var wasted: Int64 = 0
  /// Violated guarantees of the printed rows.
  private(set) var violations: [String] = []

  struct Column {
    let start: Cell.Start
    let isLasting: Bool

    var title: String { "\(start.rawValue), \(isLasting ? "always" : "once")" }
  }

  static let columns = Cell.Start.allCases.flatMap { start in
    [false, true].map { Column(start: start, isLasting: $0) }
  }

  /// Prints the head.
  init(_ rows: [Faults.Row]) {
    self.rows = rows
    say("| fault | \(Self.columns.map(\.title).joined(separator: " | ")) | lasting, it ends with |")
    say("|---|\(Self.columns.map { _ in "---" }.joined(separator: "|"))|---|")
  }

  /// Adds the outcomes of a row, by column, and prints the rows that have no unfinished row above.
  mutating func add(_ outcomes: [Cell.Outcome], row index: Int) {
    finished[index] = outcomes
    while let outcomes = finished.removeValue(forKey: printed) {
      show(rows[printed], outcomes)
      printed += 1
    }
  }

  private mutating func show(_ row: Faults.Row, _ outcomes: [Cell.Outcome]) {
    for (column, outcome) in zip(Self.columns, outcomes) {
      violations += outcome.violations.map { "\(row.line), \(column.title): \($0)" }
      wasted += outcome.wasted
    }
    runs += outcomes.count
    let cells = outcomes.map { String(format: "%.1f", $0.seconds) }.joined(separator: " | ")
    let ends = Set(outcomes.compactMap { $0.error?.code.rawValue }).sorted().map(String.init)
    let end = ends.isEmpty ? "success" : ends.joined(separator: ", ")
    say("| `\(row.shown)` | \(cells) | \(end) |")
  }

  /// Prints the sums and the violated guarantees.
  func finish() {
    say("\(runs) runs, \(violations.count) guarantees broken, \(wasted) bytes wasted")
    for violation in violations { say("BROKEN: \(violation)") }
  }

  /// Writes at once, even into a pipe, because hundreds of runs take minutes.
  private func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}

extension Faults.Row {
  /// Returns the line without local paths.
  fileprivate var shown: String {
    line.replacing("/targets/*.pkg ", with: "").split(separator: " ")
      .map { $0.hasPrefix("/") && $0.contains("hostedcontent-") ? "FILE" : String($0) }
      .joined(separator: " ")
  }
}
