import ContentModel
import ContentStore

/// `store withdraw`: takes back a version that was published by mistake.
enum StoreWithdrawCommand {
  static let command = Command(
    name: "store withdraw",
    summary: "Takes back a version that was published by mistake, so that a lower one can follow.",
    operands: "STORE ID VERSION",
    options: [
      .init("--content", "ID", "the content's identifier; default: the product's own content")
    ] + StoreKeyArguments.options,
    example: "hostedcontent store withdraw store com.example.book 9.9", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let product = try arguments.identifier(arguments.operands[1])
    let version = try arguments.version(arguments.operands[2])
    let content = try arguments.text("--content").map { try arguments.identifier($0) }
    try arguments.openedStore().withdraw(product, version, content: content)
    console.print("\(content ?? product) \(version): withdrawn; its files are kept")
    console.note(
      "Publish the right version now. Clients replace \(version) with the newest offered version.")
    return .done
  }
}
