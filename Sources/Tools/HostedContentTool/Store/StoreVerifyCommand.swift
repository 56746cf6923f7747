import ContentStore

enum StoreVerifyCommand {
  static let command = Command(
    name: "store verify",
    summary: "Compares every byte of archives, indexes and records with the signed metadata.",
    operands: "STORE [ID…]",
    options: [.json, .limitRate] + StoreKeyArguments.record,
    example: "hostedcontent store verify store --limit-rate 50M"
  ) { arguments, console in
    let wanted = try arguments.operands.dropFirst().map { try arguments.identifier($0) }
    let rate = try arguments.bytesPerSecond()
    let store = try arguments.openedStore()
    // Nothing is written, so a signal may end the process at any time. What was found is printed.
    let result = try store.verify(
      Set(wanted), bytesPerSecond: rate,
      didFind: { damage in if !console.printsJSON { console.print(damage.line) } })
    try console.print(result) {
      console.print(
        "\(Console.count(result.files, "file")) verified, \(Console.bytes(result.bytes)), "
          + Console.count(result.damages.count, "difference"))
    }
    return result.damages.isEmpty ? .done : .failed
  }
}

extension Finding {
  /// The difference in one line: product, version, file, problem and remedy.
  fileprivate var line: String {
    var owner = productIdentifier?.rawValue ?? ""
    if let contentIdentifier, contentIdentifier != productIdentifier {
      owner += " \(contentIdentifier)"
    }
    if let version { owner += " \(version)" }
    return "\(owner.isEmpty ? "" : "\(owner) ")\(path ?? ""): \(rule ?? ""), \(message). "
      + "\(remedy)."
  }
}
