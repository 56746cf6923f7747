import Foundation
import HostedContent
import TestSupport

/// Runs every fault × {fresh, resumed, three at once} × {once, always} against a test server.
///
/// Prints a table and the violated guarantees; exits with 1 if there are any. Arguments select the
/// faults whose lines contain them.
@main
enum FaultMatrix {
  static func main() async throws {
    let fixture = try Fixture()
    let words = CommandLine.arguments.dropFirst()
    let rows = Faults.rows(
      wrongChain: fixture.folder.path("wrong.pem"), wrongKey: fixture.folder.path("wrong.key")
    ).filter { row in words.isEmpty || words.contains { row.line.contains($0) } }
    say("| fault | \(columns.map(\.title).joined(separator: " | ")) | lasting, it ends with |")
    say("|---|\(columns.map { _ in "---" }.joined(separator: "|"))|---|")
    var violations: [String] = []
    var wasted: Int64 = 0
    var number = 0
    for row in rows {
      var cells: [String] = []
      var ends: Set<Int> = []
      for column in columns {
        number += 1
        let cell = Cell(row: row, start: column.start, isLasting: column.isLasting)
        let outcome = try await cell.run(fixture, number: number)
        cells.append(String(format: "%.1f", outcome.seconds))
        wasted += outcome.wasted
        if let error = outcome.error { ends.insert(error.code.rawValue) }
        violations += outcome.violations.map { "\(row.line), \(column.title): \($0)" }
      }
      let end = ends.isEmpty ? "success" : ends.sorted().map(String.init).joined(separator: ", ")
      say("| `\(row.shown)` | \(cells.joined(separator: " | ")) | \(end) |")
    }
    say("\(number) runs, \(violations.count) guarantees broken, \(wasted) bytes wasted")
    for violation in violations { say("BROKEN: \(violation)") }
    exit(violations.isEmpty ? 0 : 1)
  }

  /// Writes at once, even into a pipe, because hundreds of runs take minutes.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  private struct Column {
    let start: Cell.Start
    let isLasting: Bool

    var title: String { "\(start.rawValue), \(isLasting ? "always" : "once")" }
  }

  private static let columns = Cell.Start.allCases.flatMap { start in
    [false, true].map { Column(start: start, isLasting: $0) }
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
