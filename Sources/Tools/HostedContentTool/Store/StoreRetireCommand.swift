import ContentStore

enum StoreRetireCommand {
  static let retire = Command(
    name: "store retire", summary: "Removes a version from the catalog.", operands: operands,
    options: [content] + StoreDryRun.options + StoreKeyArguments.options,
    example: "hostedcontent store retire store com.example.book 1.0"
  ) { arguments, console in
    let (product, version, content) = try target(arguments)
    try arguments.changeStore(console) {
      try $0.retire(product, version: version, content: content)
    } report: { _ in
      console.print("\(content ?? product) \(version): retired; its files are kept")
    }
    return .done
  }

  static let withdraw = Command(
    name: "store withdraw",
    summary: "Takes back a version that was published by mistake, so that a lower one can follow.",
    operands: operands, options: [content] + StoreKeyArguments.options,
    example: "hostedcontent store withdraw store com.example.book 9.9"
  ) { arguments, console in
    let (product, version, content) = try target(arguments)
    try arguments.openedStore().withdraw(product, version: version, content: content)
    console.print("\(content ?? product) \(version): withdrawn; its files are kept")
    console.note(
      "Publish the right version now. Clients replace \(version) with the newest offered version.")
    return .done
  }

  private static let operands = "STORE ID VERSION"
  private static let content = Command.Option(
    "--content", "ID", "the content's identifier; default: the product's own content")

  private static func target(_ arguments: Arguments) throws -> (
    ProductIdentifier, ContentVersion, content: ProductIdentifier?
  ) {
    (
      try arguments.identifier(arguments.operands[1]), try arguments.version(arguments.operands[2]),
      try arguments.identifier(of: "--content")
    )
  }
}
