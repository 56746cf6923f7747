import ContentModel
import ContentStore

/// `store add`: adds a product without content.
enum StoreAddCommand {
  static let command = Command(
    name: "store add", summary: "Adds or changes a product without content.",
    operands: "STORE ID",
    options: StoreDryRun.options + StorePublishCommand.details + StoreKeyArguments.options,
    example: "hostedcontent store add store com.example.club --title 'Book club' --price 4.99",
    run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let identifier = try arguments.identifier(arguments.operands[1])
    let store = try arguments.openedStore()
    let details = try arguments.productDetails()
    let change = try arguments.change(store, console) { try $0.add(identifier, details: details) }
    if arguments.isDryRun { return .done }
    if let change {
      console.print("\(identifier): \(change.isNew ? "added" : change.sentence)")
    } else {
      console.print("\(identifier): nothing changed")
    }
    return .done
  }
}
