import HostedContent
import HostedFileIO
import HostedLibrary

enum VerifyCommand {
  static let command = Command(
    name: "verify", summary: "Compares every byte of installed files with their recorded digests.",
    operands: "[ID…]",
    options: [.library, .json, .limitRate],
    example: "hostedcontent verify --library lib"
  ) { arguments, console in
    let wanted = try arguments.contentIdentifiers()
    let library = try arguments.libraryReader()
    let rate = try arguments.bytesPerSecond()
    var (contents, errors) = try library.contents(wanted)
    if arguments.operands.isEmpty { errors += try library.unreadableRecords() }
    var damages: [Damage] = []
    var verified = 0
    for content in contents {
      do {
        let pace = rate.map { ReadThrottle(bytesPerSecond: $0) }
        damages += try library.verify(content, pace: pace).map {
          Damage(
            contentIdentifier: content.contentIdentifier, version: content.version,
            path: $0.path ?? "", problem: $0.rule ?? "")
        }
        verified += 1
      } catch {
        // Report what cannot be read, and verify the others.
        errors += arguments.failures(error, while: "verifying", content)
      }
    }
    try console.print(Report(verified: verified, damages: damages)) {
      for damage in damages {
        let place = "\(damage.contentIdentifier) \(damage.version)"
        let path = damage.path.isEmpty ? "the whole folder" : damage.path
        console.print("\(place) \(path): \(damage.problem)")
      }
      console.print(
        "\(Console.count(verified, "version")) verified, "
          + Console.count(damages.count, "difference"))
    }
    errors.forEach(console.report)
    return damages.isEmpty && errors.isEmpty ? .done : .failed
  }

  private struct Report: Encodable {
    let verified: Int
    let damages: [Damage]
  }

  private struct Damage: Encodable {
    let contentIdentifier: ProductIdentifier
    let version: ContentVersion
    /// Empty for the whole folder.
    let path: String
    let problem: String
  }
}

extension LibraryReader {
  /// The installed versions of `wanted`, or all if it is empty, and an error for each missing one.
  fileprivate func contents(_ wanted: Set<ProductIdentifier>) throws -> (
    [InstalledContent], [ContentError]
  ) {
    let contents = try contents().map(\.content)
    let known = Set(contents.map(\.contentIdentifier))
    let errors = wanted.subtracting(known).sorted().map {
      ContentError.notInstalled($0.rawValue, among: known)
    }
    let selected = contents.filter { wanted.isEmpty || wanted.contains($0.contentIdentifier) }
    return (selected, errors)
  }
}

extension Arguments {
  fileprivate func contentIdentifiers() throws -> Set<ProductIdentifier> {
    Set(try operands.map { try identifier($0) })
  }

  /// The error of an action on `content`.
  ///
  /// Empty if a queue has removed the content after all contents were listed.
  fileprivate func failures(_ error: any Error, while action: String, _ content: InstalledContent)
    -> [ContentError]
  {
    let name = content.contentIdentifier.rawValue
    let failure = ContentError(error, while: "\(action) \(name)").about(name)
    return failure.code == .notInstalled && operands.isEmpty ? [] : [failure]
  }
}

enum RepairCommand {
  static let command = Command(
    name: "repair", summary: "Repairs damaged files, and fetches only what it needs.",
    operands: "[ID…]",
    options: [.store, .library, .json] + ServiceArguments.optional + NetworkArguments.options,
    example: "hostedcontent repair --store store --library lib"
  ) { arguments, console in
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

  private struct Report: Encodable {
    let repairs: [RepairReport]
    /// The unreadable records that were removed from the journal.
    let removedRecords: [ContentError]
  }
}
