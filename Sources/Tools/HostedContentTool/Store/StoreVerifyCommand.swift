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
      didFind: { damage in if !console.printsJSON { console.print(line(of: damage)) } })
    try console.print(result) {
      console.print(
        "\(Console.count(result.files, "file")) verified, \(Console.bytes(result.bytes)), "
          + Console.count(result.damages.count, "difference"))
    }
    return result.damages.isEmpty ? .done : .failed
  }

  /// The difference in one line: product, version, file, problem and remedy.
  private static func line(of damage: Finding) -> String {
    var owner = damage.productIdentifier?.rawValue ?? ""
    if let content = damage.contentIdentifier, content != damage.productIdentifier {
      owner += " \(content)"
    }
    if let version = damage.version { owner += " \(version)" }
    return "\(owner.isEmpty ? "" : "\(owner) ")\(damage.path ?? ""): \(damage.rule ?? ""), "
      + "\(damage.message). \(damage.remedy)."
  }
}
