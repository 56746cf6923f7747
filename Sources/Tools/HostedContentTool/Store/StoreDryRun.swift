import ContentStore
import HostedFileIO

enum StoreDryRun {
  static let options: [Command.Option] = [
    .init("--dry-run", nil, "only print what would be written; changes nothing"),
    .init("--json", nil, "with --dry-run, print one JSON document"),
  ]

  struct Report: Encodable {
    let dryRun = true
    let products: [Product]
    let updates: [UpdateEstimate]
    let files: [StoreRehearsal.File]
    let removedFiles: [StoreRehearsal.File]
    let bytes: Int64

    init(_ rehearsal: StoreRehearsal) {
      products = rehearsal.changes.map {
        Product(
          productIdentifier: $0.productIdentifier, isNew: $0.isNew,
          changedFields: $0.fields.map { Field(name: $0.names.json, language: $0.names.language) },
          newVersions: $0.addedVersions, retiredVersions: $0.retiredVersions)
      }
      updates = rehearsal.updates
      files = rehearsal.files
      removedFiles = rehearsal.removedFiles
      bytes = rehearsal.bytes
    }

    struct Product: Encodable {
      let productIdentifier: ProductIdentifier
      let isNew: Bool
      let changedFields: [Field]
      let newVersions: [StoredVersion]
      let retiredVersions: [StoredVersion]
    }

    struct Field: Encodable {
      let name: String
      let language: String?
    }
  }

  static func lines(_ rehearsal: StoreRehearsal) -> [String] {
    var lines = rehearsal.changes.flatMap { Self.lines($0) }
    lines += rehearsal.updates.map { update in
      let content = "\(update.contentIdentifier) \(update.offered)"
      let bytes = update.bytesToMove.map(Console.bytes) ?? "an unknown number of bytes"
      let reason = update.wholePackageReason.map { " (the whole package: \($0))" } ?? ""
      return "\(content): an update from \(update.installed) would fetch \(bytes) of "
        + "\(Console.bytes(update.bytesInFull))\(reason)"
    }
    lines += rehearsal.files.map { "\($0.path): would be written, \(Console.bytes($0.bytes))" }
    lines += rehearsal.removedFiles.map { "\($0.path): would be removed" }
    let written = Console.count(rehearsal.files.count, "file")
    let removed = Console.count(rehearsal.removedFiles.count, "file")
    return lines + [
      "\(written), \(Console.bytes(rehearsal.bytes)) would be written"
        + (rehearsal.removedFiles.isEmpty ? "" : ", \(removed) would be removed")
    ]
  }

  private static func lines(_ change: CatalogChange) -> [String] {
    var lines: [String] = []
    if change.isNew {
      lines.append("\(change.productIdentifier): would be a new product")
    } else if !change.fields.isEmpty {
      lines.append("\(change.productIdentifier): would change \(change.fields.sentence)")
    }
    lines += change.addedVersions.map {
      "\($0.contentIdentifier) \($0.version): would be published, \(Console.bytes($0.length))"
    }
    lines += change.retiredVersions.map {
      "\($0.contentIdentifier) \($0.version): would be retired"
    }
    return lines
  }
}

extension Arguments {
  /// Runs `change` on the store of the first operand, then `report`; `--dry-run` only rehearses.
  func changeStore<Value>(
    _ console: Console, _ fileSystem: FileSystem = .real,
    _ change: (StoreFolder) throws -> Value, report: (Value) -> Void
  ) throws {
    let store = try openedStore(fileSystem)
    guard has("--dry-run") else {
      if has("--json") { throw wrong("--json needs --dry-run") }
      return try report(change(store))
    }
    let rehearsal = try store.rehearse { _ = try change($0) }
    try console.print(StoreDryRun.Report(rehearsal)) {
      for line in StoreDryRun.lines(rehearsal) { console.print(line) }
    }
  }
}

extension ProductChange.Field {
  /// The name in JSON and in a sentence, and the language of a text.
  fileprivate var names: (json: String, shown: String, language: String?) {
    switch self {
    case .title(let language): ("title", "title", language)
    case .description(let language): ("description", "description", language)
    case .releaseNotes(let language): ("releaseNotes", "release notes", language)
    case .price: ("price", "price", nil)
    case .type: ("type", "type", nil)
    }
  }
}

extension [ProductChange.Field] {
  /// The fields, such as `the title (fi), the price`.
  var sentence: String {
    map { "the \($0.names.shown)" + ($0.names.language.map { " (\($0))" } ?? "") }
      .joined(separator: ", ")
  }
}
