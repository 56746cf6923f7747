import HostedModel
import HostedContent

enum CollectCommand {
  static let command = Command(
    name: "collect", summary: "Removes old versions, except pinned ones and those in use.",
    options: [
      .library, .json,
      .init("--keep", "N", "versions of a content to keep, including the current one; default 1"),
      .init(
        "--quota", "BYTES",
        "the maximum size of all versions; removes the least recently used first"),
    ],
    example: "hostedcontent collect --library lib --keep 2 --quota 1000000000", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let policy = CollectionPolicy(
      keptVersions: try arguments.number("--keep", minimum: 1) ?? 1,
      maximumBytes: try arguments.number("--quota", minimum: 0).map(Int64.init))
    let queue = try arguments.offlineQueue()
    defer { queue.close() }
    let report = try queue.collect(policy)
    try console.print(report) {
      for content in report.removed {
        console.print("\(content.contentIdentifier) \(content.version): removed")
      }
      for content in report.leased {
        console.print("\(content.contentIdentifier) \(content.version): in use, not removed")
      }
      console.print(
        "\(Console.bytes(report.bytesFreed)) freed, \(Console.bytes(report.bytesLeft)) left")
    }
    report.failures.forEach(console.report)
    return report.failures.isEmpty ? .done : .failed
  }
}
