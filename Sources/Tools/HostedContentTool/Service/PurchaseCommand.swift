import HostedHTTPValues
import HostedTransfer
import HostedContent
import HostedShop

enum PurchaseCommand {
  static let command = Command(
    name: "purchase", summary: "Buys a product from a store server, without installing it.",
    operands: "ID",
    options: [
      ServiceArguments.account,
      .init(
        "--transaction", "ID", "the transaction of an earlier attempt; default: a new transaction"),
      .init("--voucher-file", "FILE", "a file or pipe with a voucher"),
    ] + ServiceArguments.required,
    example: "hostedcontent purchase com.example.book \(ServiceArguments.example)"
  ) { arguments, console in
    let product = try arguments.identifier(arguments.operands[0]).rawValue
    let transaction = try arguments.text("--transaction") ?? randomIdentifier()
    var body: [String: JSONValue] = ["productIdentifier": .string(product)]
    body["account"] = try arguments.text("--account").map { .string($0) }
    body["voucher"] = try arguments.secret("--voucher-file").map { .string($0) }
    // With another transaction, it would be sold twice.
    let repetition = "Repeat the purchase with --transaction \(transaction)"
    console.signals?.setRemedy(repetition)
    let server = try arguments.storeServer()
    defer { server.close() }
    let purchase: PurchaseRecord
    var mayBeSold = true
    do {
      let response = try await server.send(
        "POST", "/v1/purchases", headers: [HTTPHeader("Idempotency-Key", transaction)],
        body: .object(body))
      let isRefused =
        (400..<500).contains(response.status) && ![408, 409, 425, 429].contains(response.status)
      // A refusal says nothing about an earlier attempt, except that it was another request.
      let mayBeFirst = !response.isRepeated && !arguments.has("--transaction")
      mayBeSold = !isRefused || !mayBeFirst && response.status != 422
      let answer = try server.json(response)
      purchase = try PurchaseRecord(json: answer)
      try console.print(answer) {
        console.print("\(product): \(purchase.state.name), transaction \(purchase.transaction)")
      }
      // Here, so that an error of the output has the transaction too.
      _ = try console.checked(.done)
    } catch let error as ContentError where mayBeSold && error.code != .usage {
      throw error.with(remedy: "\(error.remedy). \(repetition)")
    }
    if case .failed = purchase.state, let error = purchase.state.refusal(of: purchase.product) {
      throw error
    }
    return .done
  }
}
