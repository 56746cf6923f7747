import ContentModel
import HostedContent

/// `repair`: restores damaged files from the members that contain them.
enum RepairCommand {
  static let command = Command(
    name: "repair", summary: "Repairs damaged files, and fetches only what it needs.",
    operands: "[ID…]", operandCount: 0...Int.max,
    options: [.store, .library, .json] + ServiceArguments.optional + NetworkArguments.options,
    example: "hostedcontent repair --store store --library lib", run: run)

  private struct Report: Encodable {
    let repairs: [RepairReport]
    /// The unreadable records that were removed from the journal.
    let removedRecords: [ContentError]
  }

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let wanted = Set(try arguments.operands.map { try arguments.identifier($0) })
    let contents = try arguments.libraryReader().contents().map(\.content)
    let known = Set(contents.map(\.contentIdentifier))
    var errors = wanted.subtracting(known).sorted().map {
      ContentError.notInstalled($0.rawValue, among: known)
    }
    let queue = try PaymentQueue(arguments.queueConfiguration(console))
    defer { queue.close() }
    let removed = try await queue.repairJournal()
    var reports: [RepairReport] = []
    for content in contents {
      let name = content.contentIdentifier.rawValue
      guard wanted.isEmpty || wanted.contains(content.contentIdentifier) else { continue }
      do {
        let report = try await queue.repair(content)
        reports.append(report)
        if !arguments.has("--json"), !report.damagedPaths.isEmpty {
          console.print(
            "\(name) \(content.version): \(report.damagedPaths.count) repaired, "
              + "\(Console.bytes(report.bytesFetched)) fetched")
        }
      } catch let error as ContentError
        where error.code == .notInstalled && arguments.operands.isEmpty
      {
        // It was removed after it was listed.
      } catch {
        // Report what cannot be repaired, and repair the others.
        errors.append(ContentError(error, while: "repairing \(name)").about(name))
      }
    }
    if arguments.has("--json") {
      try console.print(json: Report(repairs: reports, removedRecords: removed))
    } else if errors.isEmpty, removed.isEmpty, reports.allSatisfy(\.damagedPaths.isEmpty) {
      console.print("Nothing is damaged.")
    } else {
      removed.forEach { console.print("Removed from the journal: \($0)") }
    }
    errors.forEach(console.report)
    return errors.isEmpty ? .done : .failed
  }
}
