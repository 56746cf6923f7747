import HostedModel
import HostedContent

enum RepairCommand {
  static let command = Command(
    name: "repair", summary: "Repairs damaged files, and fetches only what it needs.",
    operands: "[ID…]",
    options: [.store, .library, .json] + ServiceArguments.optional + NetworkArguments.options,
    example: "hostedcontent repair --store store --library lib", run: run)

  private struct Report: Encodable {
    let repairs: [RepairReport]
    /// The unreadable records that were removed from the journal.
    let removedRecords: [ContentError]
  }

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let wanted = try arguments.contentIdentifiers()
    var (contents, errors) = try arguments.libraryReader().contents(wanted)
    let queue = try PaymentQueue(arguments.queueConfiguration(console))
    defer { queue.close() }
    let removed = try await queue.repairJournal()
    var reports: [RepairReport] = []
    for content in contents {
      do {
        let report = try await queue.repair(content)
        reports.append(report)
        if !console.printsJSON, !report.damagedPaths.isEmpty {
          console.print(
            "\(content.contentIdentifier) \(content.version): "
              + "\(report.damagedPaths.count) repaired, "
              + "\(Console.bytes(report.bytesFetched)) fetched")
        }
      } catch {
        // Report what cannot be repaired, and repair the others.
        errors += arguments.failures(error, while: "repairing", content)
      }
    }
    try console.print(Report(repairs: reports, removedRecords: removed)) {
      if errors.isEmpty, removed.isEmpty, reports.allSatisfy(\.damagedPaths.isEmpty) {
        console.print("Nothing is damaged.")
      }
      removed.forEach { console.print("Removed from the journal: \($0)") }
    }
    errors.forEach(console.report)
    return errors.isEmpty ? .done : .failed
  }
}
