import HostedModel
import HostedContent
import HostedLedger

enum DecisionCommand {
  static let approve = command(
    "approve", "Approves a purchase that waits for a decision.", hasReason: false)
  static let decline = command("decline", "Declines a purchase that waits for a decision.")
  static let refund = command("refund", "Records that the price of a purchase was paid back.")
  static let revoke = command("revoke", "Takes a purchase back.")
  static let reverse = command("reverse", "Undoes a refund or a revocation.", hasReason: false)

  private static let reason = Command.Option(
    "--reason", "TEXT", "the reason, which the buyer sees")

  private static func command(_ name: String, _ summary: String, hasReason: Bool = true)
    -> Command
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
