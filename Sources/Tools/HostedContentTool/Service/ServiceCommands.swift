import HostedContent
import HostedFileIO
import HostedShop

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
  /// Of a file with names.
  private static let maximumFile: Int64 = 16 << 20

  static let command = Command(
    name: "account erase",
    summary: "Replaces names of accounts by random ones. Needs a token with the scope admin.",
    operands: "[ACCOUNT…]",
    options: ServiceArguments.required + [
      .init("--from", "FILE", "a file with one account in each line")
    ],
    example: "hostedcontent account erase alice bob \(ServiceArguments.example)"
  ) { arguments, console in
    let accounts = try arguments.operands + (arguments.text("--from").map(names) ?? [])
    guard !accounts.isEmpty else { throw arguments.wrong("no ACCOUNT is given") }
    if let wrong = accounts.first(where: { $0.isEmpty || $0 == "-" }) {
      throw arguments.wrong("“\(wrong)” is not an account")
    }
    let server = try arguments.storeServer()
    defer { server.close() }
    var erased: [String: Int64] = [:]
    for account in accounts {
      let answer = try await server.post(
        "accounts/\(PercentEncoding.component(account))/erase")
      erased[account] = answer["purchases"]?.integer ?? 0
    }
    try console.print(["erased": erased]) {
      for account in accounts {
        let count = Console.count(Int(erased[account] ?? 0), "purchase")
        console.print("\(account.printable(limit: 256)): erased from \(count)")
      }
    }
    let unknown = accounts.filter { erased[$0] == 0 }
    for account in unknown {
      console.report(
        ContentError(
          .notEntitled, "The server has no purchases of \(account.printable(limit: 256))",
          remedy: "Check the name. If it was erased before, nothing is left of it",
          subject: account))
    }
    return unknown.isEmpty ? .done : .failed
  }

  private static func names(_ path: String) throws -> [String] {
    let place = try FilePlace(path)
    let bytes = try place.folder().contents(of: place.name, limit: maximumFile)
    return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(
      String.init)
  }
}
