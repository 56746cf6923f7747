import ContentStore

/// `store init`: keys and first metadata.
enum StoreInitCommand {
  static let command = Command(
    name: "store init", summary: "Makes a store: its keys and an empty signed catalogue.",
    operands: "STORE", operandCount: 1...1, options: [], example: "hostedcontent store init store",
    run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let path = arguments.operands[0]
    _ = try StoreFolder.create(at: path)
    console.print("\(path): an empty store; its keys are in \(path).keys, keep them to yourself")
    return .done
  }
}

/// `store refresh`: signatures that are valid for longer.
enum StoreRefreshCommand {
  static let command = Command(
    name: "store refresh", summary: "Renews metadata before it expires.", operands: "STORE",
    operandCount: 1...1, options: [], example: "hostedcontent store refresh store", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let path = arguments.operands[0]
    try StoreFolder.open(at: path).refresh()
    console.print("\(path): renewed")
    return .done
  }
}
