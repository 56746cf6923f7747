import ContentModel
import ContentStore

/// `store verify`: compares a store's files with its signed metadata.
enum StoreVerifyCommand {
  static let command = Command(
    name: "store verify",
    summary: "Compares every byte of archives, indexes and records with the signed metadata.",
    operands: "STORE [ID…]", operandCount: 1...Int.max,
    options: [.json, .limitRate] + StoreKeyArguments.record,
    example: "hostedcontent store verify store --limit-rate 50M", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let wanted = try arguments.operands.dropFirst().map { try arguments.identifier($0) }
    let rate = try arguments.bytesPerSecond()
    let store = try arguments.openedStore()
    let isJSON = arguments.has("--json")
    // Nothing is written, so a signal may end the process at any time. What was found is printed.
    let result = try store.verify(
      Set(wanted), bytesPerSecond: rate,
      didFind: { damage in if !isJSON { console.print(damage.line) } })
    if isJSON {
      try console.print(json: result)
    } else {
      let files = "\(result.files) \(result.files == 1 ? "file" : "files")"
      let count = result.damages.count
      console.print(
        "\(files) verified, \(Console.bytes(result.bytes)), "
          + "\(count) \(count == 1 ? "difference" : "differences")")
    }
    return result.damages.isEmpty ? .done : .failed
  }
}

extension StoreDamage {
  /// The difference in one line: product, version, file, problem and remedy.
  fileprivate var line: String {
    var owner = productIdentifier?.rawValue ?? ""
    if let contentIdentifier, contentIdentifier != productIdentifier {
      owner += " \(contentIdentifier)"
    }
    if let version { owner += " \(version)" }
    return "\(owner.isEmpty ? "" : "\(owner) ")\(path): \(problem.rawValue), \(reason). \(remedy)."
  }
}
