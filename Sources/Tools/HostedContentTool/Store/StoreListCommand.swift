import ContentStore

enum StoreListCommand {
  static let command = Command(
    name: "store list", summary: "Lists every product, content and version of a store.",
    operands: "STORE",
    options: [.json] + StoreKeyArguments.record + [StoreKeyArguments.restored],
    example: "hostedcontent store list store"
  ) { arguments, console in
    let products = try arguments.openedStore().products()
    try console.print(["products": products]) {
      if products.isEmpty { return console.print("The store has no products.") }
      let rows = products.flatMap { product in
        product.rows.map { $0 + [product.record.texts["en"]?.title ?? ""] }
      }
      console.print(table: rows, heading: ["product", "content", "version", "size", "title"])
    }
    return .done
  }
}

extension StoredProduct {
  /// A row for each version: the product, the content, the version and its size.
  var rows: [[String]] {
    let product = record.productIdentifier.rawValue
    if versions.isEmpty { return [[product, "-", "-", "no content"]] }
    return versions.map {
      [product, $0.contentIdentifier.rawValue, $0.version.rawValue, Console.bytes($0.length)]
    }
  }
}
