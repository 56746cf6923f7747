import ContentModel
import ContentTrust
import StoreLedger

/// `entitlements` and `history`: list the purchases of an account at a store server.
enum PurchaseListCommand {
  static let entitlements = command(
    "entitlements", "Lists the products that an account of a store server can restore.")
  static let history = command(
    "history", "Lists all purchases of an account of a store server.")

  private static func command(_ name: String, _ summary: String) -> Command {
    Command(
      name: name, summary: summary, operands: "", operandCount: 0...0,
      options: [ServiceArguments.account] + ServiceArguments.required,
      example: "hostedcontent \(name) --account alice \(ServiceArguments.example)"
    ) { arguments, console in try run(name, arguments, console) }
  }

  private static func run(_ name: String, _ arguments: Arguments, _ console: Console) throws
    -> ExitStatus
  {
    let client = try ServiceClient(arguments)
    defer { client.close() }
    let path = "\(try arguments.accountPath())/\(name)"
    var transactions: [JSONValue] = []
    var revision: Int64 = 0
    var hasMore = true
    while hasMore {
      let page = try client.get("\(path)?since=\(revision)&limit=1000")
      let fields = MessageFields(page, of: "a page of purchases")
      transactions += try fields.list("transactions", limit: 1_000)
      guard let last = page["revision"]?.integer, last >= revision else {
        throw fields.invalid("revision")
      }
      // A page without progress would be requested forever.
      hasMore = page["hasMore"] == .bool(true) && last > revision
      revision = last
    }
    if arguments.has("--json") {
      try console.print(
        json: PrintedJSON(
          .object(["transactions": .array(transactions), "revision": .integer(revision)])))
    } else if transactions.isEmpty {
      console.print("No purchases.")
    } else {
      let rows = try transactions.map { row(try PurchaseRecord(json: $0)) }
      console.print(table: rows, heading: ["product", "state", "date", "transaction"])
    }
    return .done
  }

  private static func row(_ purchase: PurchaseRecord) -> [String] {
    [
      purchase.product.rawValue, purchase.state.name, MessageDate.text(purchase.date),
      purchase.transaction,
    ]
  }
}
