import ContentModel
import ContentStore

/// `store retire`: removes a version from the catalog.
enum StoreRetireCommand {
  static let command = Command(
    name: "store retire", summary: "Removes a version from the catalog.",
    operands: "STORE ID VERSION",
    options: [
      .init("--content", "ID", "the content's identifier; default: the product's own content")
    ] + StoreDryRun.options + StoreKeyArguments.options,
    example: "hostedcontent store retire store com.example.book 1.0", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let product = try arguments.identifier(arguments.operands[1])
    let version = try arguments.version(arguments.operands[2])
    let content = try arguments.text("--content").map { try arguments.identifier($0) }
    try arguments.change(arguments.openedStore(), console) {
      try $0.retire(product, version, content: content)
    }
    if arguments.isDryRun { return .done }
    console.print("\(content ?? product) \(version): retired; its files are kept")
    return .done
  }
}
