import ContentModel
import FileIO
import HostedContent

/// `products`: lists the products of a store.
enum ProductsCommand {
  static let command = Command(
    name: "products", summary: "Lists the products of a store.", operands: "[ID…]",
    operandCount: 0...Int.max,
    options: [
      .store, .json,
      .init("--library", "FOLDER", "a library whose trusted root and recorded versions are used"),
    ] + NetworkArguments.options,
    example: "hostedcontent products --store store", run: run)

  private struct Report: Encodable {
    let products: [Product]
    let invalidProductIdentifiers: [String]
  }

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let given = try arguments.operands.map { try arguments.identifier($0).rawValue }
    let wanted = given.isEmpty ? nil : Set(given)
    let response = try arguments.storeLocation().products(
      wanted, trustedRoot: arguments.trustedRoot(),
      trustsOnFirstUse: arguments.trustsOnFirstUse(console),
      library: arguments.has("--library") ? arguments.library() : nil,
      mirrors: arguments.mirrors(), network: arguments.network())
    if arguments.has("--json") {
      try console.print(
        json: Report(
          products: response.products,
          invalidProductIdentifiers: response.invalidProductIdentifiers))
    } else if response.products.isEmpty {
      if arguments.operands.isEmpty { console.print("The store has no products.") }
    } else {
      console.print(
        table: response.products.map { product in
          [
            product.productIdentifier.rawValue, product.downloadContentVersion?.rawValue ?? "-",
            product.isDownloadable
              ? Console.bytes(product.downloadContentLengths.reduce(0, +)) : "no content",
            product.price?.description ?? "free",
            product.localizedTitle(),
          ]
        }, heading: ["product", "version", "size", "price", "title"])
    }
    for text in response.invalidProductIdentifiers {
      console.report(.unknownProduct(text, offered: response.offeredIdentifiers))
    }
    response.failures.forEach(console.report)
    return response.invalidProductIdentifiers.isEmpty && response.failures.isEmpty ? .done : .failed
  }
}

extension ContentError {
  /// The error for an identifier that the store does not offer.
  static func unknownProduct(_ text: String, offered: [ProductIdentifier]) -> ContentError {
    ContentError(
      .productUnknown, "The store does not offer \(text)",
      remedy: Suggestion.question(text, among: offered.map(\.rawValue))
        + "Check the identifier, or list the products of the store", subject: text)
  }
}
