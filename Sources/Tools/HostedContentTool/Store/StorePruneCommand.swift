import ContentStore

enum StorePruneCommand {
  static let command = Command(
    name: "store prune", summary: "Removes files that no catalog of the last days refers to.",
    operands: "STORE",
    options: [
      keepDays, .init("--dry-run", nil, "only print what would be removed; needs no keys"), .json,
    ] + StoreKeyArguments.record,
    example: "hostedcontent store prune store --keep-days 30 --dry-run"
  ) { arguments, console in
    let isDryRun = arguments.has("--dry-run")
    let days = try arguments.keepDays()
    let store = try arguments.openedStore()
    let found = try isDryRun ? store.prunableFiles(keepDays: days) : store.prune(keepDays: days)
    try console.print(
      Report(
        dryRun: isDryRun, keepDays: days, files: found.files, bytes: found.bytes,
        unknown: found.unknown, obstacle: found.obstacle)
    ) {
      let verb = isDryRun ? "would be removed" : "removed"
      for file in found.files {
        console.print("\(file.path): \(verb), \(Console.bytes(file.bytes))")
      }
      for path in found.unknown { console.print("\(path): unknown, kept") }
      console.print("\(found.summary) \(verb)")
      if let obstacle = found.obstacle {
        console.note("No file of targets can be removed: \(obstacle).")
      }
    }
    return .done
  }

  static let keepDays = Command.Option(
    "--keep-days", "N",
    "keep what clients saw in the last N days; default \(StoreFolder.standardKeepDays)")

  private struct Report: Encodable {
    let dryRun: Bool
    let keepDays: Int
    let files: [PrunableFiles.File]
    let bytes: Int64
    let unknown: [String]
    let obstacle: String?
  }
}

extension PrunableFiles {
  /// The number and length of the files, such as `2 files, 1.5 kB`.
  var summary: String {
    "\(Console.count(files.count, "file")), \(Console.bytes(bytes))"
  }
}

extension Arguments {
  func keepDays() throws -> Int {
    try number("--keep-days", minimum: 1, maximum: 36_500) ?? StoreFolder.standardKeepDays
  }
}
