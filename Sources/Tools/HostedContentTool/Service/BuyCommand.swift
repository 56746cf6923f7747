import ContentModel
import ContentTrust
import StoreLedger

/// `purchase`: buys one product from a store server, without installing it.
enum BuyCommand {
  static let command = Command(
    name: "purchase", summary: "Buys a product from a store server, without installing it.",
    operands: "ID", operandCount: 1...1,
    options: [
      ServiceArguments.account,
      .init(
        "--transaction", "ID", "the transaction of an earlier attempt; default: a new transaction"),
      .init("--voucher-file", "FILE", "a file or pipe with a voucher"),
    ] + ServiceArguments.required,
    example: "hostedcontent purchase com.example.book \(ServiceArguments.example)", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let product = try arguments.identifier(arguments.operands[0]).rawValue
    let transaction = try arguments.text("--transaction") ?? randomIdentifier()
    var body: [String: JSONValue] = ["productIdentifier": .string(product)]
    body["account"] = try arguments.text("--account").map { .string($0) }
    body["voucher"] = try arguments.secret("--voucher-file").map { .string($0) }
    let client = try ServiceClient(arguments)
    defer { client.close() }
    let answer: JSONValue
    do {
      answer = try client.post("purchases", body, idempotencyKey: transaction)
    } catch let error as ContentError where error.isRetryable {
      // The product may be sold. With another transaction, it would be sold twice.
      console.note("Repeat the purchase with --transaction \(transaction)")
      throw error
    }
    let purchase = try PurchaseRecord(json: answer)
    if arguments.has("--json") {
      try console.print(json: PrintedJSON(answer))
    } else {
      console.print("\(product): \(purchase.state.name), transaction \(purchase.transaction)")
    }
    guard case .failed(let failure) = purchase.state else { return .done }
    throw failure.error(of: product)
  }
}

extension PurchaseState.Failure {
  fileprivate func error(of product: String) -> ContentError {
    switch self {
    case .declined(let reason):
      ContentError(
        .notEntitled, "The purchase of \(product) was declined: \(reason.printable(limit: 240))",
        remedy: "Buy it again with a new transaction", subject: product)
    case .interrupted:
      ContentError(
        .notEntitled, "The purchase of \(product) was interrupted by the seller",
        remedy: "Do what the seller asks for, then repeat the purchase or wait for its approval",
        subject: product)
    }
  }
}
