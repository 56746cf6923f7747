import HostedModel
import HostedContent
import HostedLedger

enum PurchaseListCommand {
  static let entitlements = command(
    .entitlements, "Lists the products that an account of a store server can restore.")
  static let history = command(
    .history, "Lists all purchases of an account of a store server.")

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
