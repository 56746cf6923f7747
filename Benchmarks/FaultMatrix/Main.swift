import Foundation
import HostedTestSupport

/// Runs every fault × {fresh, resumed, three at once} × {once, always} against test servers.
///
/// Prints a table and the violated guarantees; exits with 1 if there are any. Arguments select the
/// faults whose lines contain them.
@main
enum FaultMatrix {
  /// Rows mostly wait for timeouts, but more of them at once would exceed timeouts by computing.
  private static let rowsAtOnce = 4

  static func main() async throws {
    let violations = try await run(CommandLine.arguments.dropFirst())
    exit(violations.isEmpty ? 0 : 1)
  }

  /// Returns the violated guarantees; the fixture's folder is removed before `exit`.
  private static func run(_ words: ArraySlice<String>) async throws -> [String] {
    let fixture = try Fixture()
    let rows = Faults.rows(
      wrongChain: fixture.folder.path("wrong.pem"), wrongKey: fixture.folder.path("wrong.key")
    ).filter { row in words.isEmpty || words.contains { row.line.contains($0) } }
    var table = Table(rows)
    try await withThrowingTaskGroup(of: (Int, [Cell.Outcome]).self) { group in
      for (index, row) in rows.enumerated() {
        if index >= rowsAtOnce, let (ended, outcomes) = try await group.next() {
          table.add(outcomes, row: ended)
        }
        group.addTask { (index, try await outcomes(of: row, fixture)) }
      }
      for try await (ended, outcomes) in group { table.add(outcomes, row: ended) }
    }
    table.finish()
    return table.violations
  }

  private static func outcomes(of row: Faults.Row, _ fixture: Fixture) async throws
    -> [Cell.Outcome]
  {
    var outcomes: [Cell.Outcome] = []
    for column in Table.columns {
      let cell = Cell(row: row, start: column.start, isLasting: column.isLasting)
      outcomes.append(try await cell.run(fixture))
    }
    return outcomes
  }
}
