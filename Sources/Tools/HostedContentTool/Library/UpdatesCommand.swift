import HostedContent

enum UpdatesCommand {
  static let command = Command(
    name: "updates", summary: "Lists installed content with a newer version in the store.",
    options: [.store, .library, .json, .requireUpdate] + NetworkArguments.options,
    example: "hostedcontent updates --store store --library lib"
  ) { arguments, console in
    let store = try arguments.storeReader(console)
    let installed = try arguments.libraryReader().contents().map(\.content.productIdentifier)
    let products = try store.products(Set(installed.map(\.rawValue)))
    let updates = try arguments.libraryReader().updates(of: products.products, from: store)
    products.failures.forEach(console.report)
    try console.print(["updates": updates.map(report)]) {
      if updates.isEmpty { return console.print("Everything is up to date.") }
      console.print(
        table: updates.map {
          [
            $0.productIdentifier.rawValue, $0.contentIdentifier.rawValue, $0.installed.rawValue,
            $0.offered.rawValue, Console.bytes($0.bytesToMove),
          ]
        }, heading: ["product", "content", "installed", "offered", "to move"])
      for update in updates {
        guard let reason = update.wholePackageReason else { continue }
        console.note("\(update.contentIdentifier): the whole package is fetched: \(reason)")
      }
    }
    let unmeasured = updates.compactMap(\.measuringError)
    unmeasured.forEach(console.report)
    guard products.failures.isEmpty, unmeasured.isEmpty else { return .failed }
    return updates.isEmpty && arguments.has("--require-update") ? .nothingToDo : .done
  }

  private static func report(_ update: ContentUpdate) -> [String: JSONValue] {
    var report: [String: JSONValue] = [
      "productIdentifier": .string(update.productIdentifier.rawValue),
      "contentIdentifier": .string(update.contentIdentifier.rawValue),
      "installed": .string(update.installed.rawValue),
      "offered": .string(update.offered.rawValue),
      "bytesToMove": .integer(update.bytesToMove), "bytesInFull": .integer(update.bytesInFull),
    ]
    report["wholePackageReason"] = update.wholePackageReason.map(JSONValue.string)
    return report
  }
}
