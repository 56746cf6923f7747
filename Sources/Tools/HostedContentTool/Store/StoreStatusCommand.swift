import ContentStore
import FoundationEssentials

enum StoreStatusCommand {
  static let command = Command(
    name: "store status",
    summary: "Shows what a store has, what expires, and what needs attention.",
    operands: "STORE",
    options: [StorePruneCommand.keepDays, .json] + StoreKeyArguments.keys,
    example: "hostedcontent store status store --json"
  ) { arguments, console in
    let days = try arguments.keepDays()
    let status = try arguments.openedStore().status(keepDays: days)
    let report = Report(
      products: status.products, sizes: status.sizes, roles: status.roles,
      dueRoles: status.dueRoles, record: status.record, missingFiles: status.missingFiles,
      prunableFiles: status.prunable.files.count, prunableBytes: status.prunable.bytes,
      unknownFiles: status.prunable.unknown, attention: status.attention)
    try console.print(report) {
      printVersions(status, console)
      printRoles(status, console)
      printSizes(status, console)
    }
    status.attention.forEach(console.report)
    return status.attention.isEmpty ? .done : .failed
  }

  private struct Report: Encodable {
    let products: [StoredProduct]
    let sizes: StoreStatus.Sizes
    let roles: [StoreStatus.Role]
    let dueRoles: [StoreRole]
    let record: StoreStatus.Record
    let missingFiles: [String]
    let prunableFiles: Int
    let prunableBytes: Int64
    let unknownFiles: [String]
    let attention: [ContentError]
  }

  private static func printVersions(_ status: StoreStatus, _ console: Console) {
    if status.products.isEmpty { return console.print("The store has no products.") }
    let rows = status.products.flatMap(\.rows)
    console.print(table: rows, heading: ["product", "content", "version", "size"])
  }

  private static func printRoles(_ status: StoreStatus, _ console: Console) {
    let rows = status.roles.map { role -> [String] in
      let keys = role.keys
      let unreadable = keys.unreadable == 0 ? "" : ", \(keys.unreadable) unreadable"
      return [
        role.role.rawValue, "\(role.version)", role.expires.formatted(.iso8601),
        "\(keys.present) of \(keys.listed) present, \(keys.required) required\(unreadable)",
      ]
    }
    console.print(table: rows, heading: ["role", "version", "expires", "keys"])
    for role in status.roles {
      for key in role.keys.missing { console.print("missing \(role.role.rawValue) key: \(key)") }
    }
    let due = status.dueRoles.map(\.rawValue).joined(separator: ", ")
    console.print("a refresh renews now: \(due.isEmpty ? "nothing" : due)")
    console.print("publication record: \(status.record.rawValue)")
  }

  private static func printSizes(_ status: StoreStatus, _ console: Console) {
    let sizes = status.sizes
    for (name, bytes) in [
      ("archives", sizes.archives), ("indexes", sizes.indexes), ("records", sizes.records),
      ("all files of targets", sizes.targets), ("all files of metadata", sizes.metadata),
    ] { console.print("\(name): \(Console.bytes(bytes))") }
    console.print("can be pruned: \(status.prunable.summary)")
    for path in status.prunable.unknown { console.print("unknown file: \(path)") }
    for path in status.missingFiles { console.print("missing: \(path)") }
  }
}
