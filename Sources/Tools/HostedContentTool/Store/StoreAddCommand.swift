import HostedModel
import ContentStore

enum StoreAddCommand {
  static let command = Command(
    name: "store add", summary: "Adds or changes a product without content.",
    operands: "STORE ID",
    options: StoreDryRun.options + StorePublishCommand.details + StoreKeyArguments.options,
    example: "hostedcontent store add store com.example.club --title 'Book club' --price 4.99",
    run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let identifier = try arguments.identifier(arguments.operands[1])
    let details = try arguments.productDetails()
    try arguments.changeStore(console) {
      try $0.add(identifier, details: details)
    } report: { change in
      let result = change.map { $0.isNew ? "added" : $0.sentence } ?? "nothing changed"
      console.print("\(identifier): \(result)")
    }
    return .done
  }
}
