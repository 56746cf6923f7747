import ContentModel
import ContentStore

/// `store add`: a product without content.
enum StoreAddCommand {
  static let command = Command(
    name: "store add", summary: "Adds or changes a product without content.",
    operands: "STORE ID", operandCount: 2...2,
    options: StorePublishCommand.details + StoreKeyArguments.options,
    example: "hostedcontent store add store com.example.club --title 'Book club' --price 4.99",
    run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let identifier = try ProductIdentifier(arguments.operands[1])
    let store = try arguments.openedStore()
    try store.add(identifier, details: arguments.productDetails(for: command.name))
    console.print("\(identifier): added")
    return .done
  }
}
