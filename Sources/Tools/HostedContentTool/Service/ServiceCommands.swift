import HostedContent
import HostedLedger

enum PurchaseListCommand {
  static let entitlements = command(
    .entitlements, "Lists the products that an account of a store server can restore.")
  static let history = command(.history, "Lists all purchases of an account of a store server.")

  private static func command(_ list: StoreServerConnection.PurchaseList, _ summary: String)
    -> Command
  {
    Command(
      name: list.rawValue, summary: summary,
      options: [ServiceArguments.account] + ServiceArguments.required,
      example: "hostedcontent \(list.rawValue) --account alice \(ServiceArguments.example)"
    ) { arguments, console in
      let server = try arguments.storeServer()
      defer { server.close() }
      var transactions: [JSONValue] = []
      try await server.readPages(list, of: arguments.account() ?? "-") { transactions += $0 }
      let revision = transactions.compactMap { $0["revision"]?.integer }.max() ?? 0
      let report: [String: JSONValue] = [
        "transactions": .array(transactions), "revision": .integer(revision),
      ]
      try console.print(report) {
        if transactions.isEmpty { return console.print("No purchases.") }
        let rows = try transactions.map { transaction in
          let purchase = try PurchaseRecord(json: transaction)
          return [
            purchase.product.rawValue, purchase.state.name, MessageDate.text(purchase.date),
            purchase.transaction,
          ]
        }
        console.print(table: rows, heading: ["product", "state", "date", "transaction"])
      }
      return .done
    }
  }
}

enum DecisionCommand {
  static let approve = command(
    "approve", "Approves a purchase that waits for a decision.", hasReason: false)
  static let decline = command("decline", "Declines a purchase that waits for a decision.")
  static let refund = command("refund", "Records that the price of a purchase was paid back.")
  static let revoke = command("revoke", "Takes a purchase back.")
  static let reverse = command("reverse", "Undoes a refund or a revocation.", hasReason: false)

  private static let reason = Command.Option("--reason", "TEXT", "the reason, which the buyer sees")

  private static func command(_ name: String, _ summary: String, hasReason: Bool = true) -> Command
  {
    Command(
      name: name, summary: "\(summary) Needs a token with the scope admin.",
      operands: "TRANSACTION",
      options: (hasReason ? [reason] : []) + ServiceArguments.required,
      example: "hostedcontent \(name) order-1 \(ServiceArguments.example)"
    ) { arguments, console in
      let transaction = PercentEncoding.component(arguments.operands[0])
      var body: [String: JSONValue] = [:]
      body["reason"] = try arguments.text("--reason").map { .string($0) }
      let server = try arguments.storeServer()
      defer { server.close() }
      let answer = try await server.post("purchases/\(transaction)/\(name)", body)
      let purchase = try PurchaseRecord(json: answer)
      try console.print(answer) { console.print("\(purchase.product): \(purchase.state.name)") }
      return .done
    }
  }
}

enum AccountEraseCommand {
  static let command = Command(
    name: "account erase",
    summary: "Replaces an account's name by a random one. Needs a token with the scope admin.",
    operands: "ACCOUNT", options: ServiceArguments.required,
    example: "hostedcontent account erase alice \(ServiceArguments.example)"
  ) { arguments, console in
    let account = arguments.operands[0]
    guard !account.isEmpty, account != "-" else {
      throw arguments.wrong("“\(account)” is not an account")
    }
    let server = try arguments.storeServer()
    defer { server.close() }
    _ = try await server.post("accounts/\(PercentEncoding.component(account))/erase")
    try console.print(["erased": account]) { console.print("\(account): erased") }
    return .done
  }
}
