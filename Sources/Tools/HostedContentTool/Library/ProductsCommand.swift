import HostedModel
import HostedFileIO
import HostedContent

enum ProductsCommand {
  static let command = Command(
    name: "products", summary: "Lists the products of a store.", operands: "[ID…]",
    options: [
      .store, .json,
      .init("--library", "FOLDER", "a library whose trusted root and recorded versions are used"),
    ] + NetworkArguments.options,
    example: "hostedcontent products --store store", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    guard !arguments.operands.isEmpty else { return try listAll(arguments, console) }
    let wanted = try arguments.operands.map { try arguments.identifier($0).rawValue }
    let response = try arguments.storeReader(console).products(Set(wanted))
    var printer = ProductPrinter(console, invalid: response.invalidProductIdentifiers)
    try printer.add(response.products)
    try printer.end()
    return console.reportMissing(in: response) ? .done : .failed
  }

  private static func listAll(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    var printer = ProductPrinter(console)
    var hasFailed = false
    try arguments.storeReader(console).forEachGroupOfProducts { products, failures in
      try printer.add(products)
      failures.forEach(console.report)
      hasFailed = hasFailed || !failures.isEmpty
    }
    if printer.isEmpty, !hasFailed, !console.printsJSON {
      console.print("The store has no products.")
    }
    try printer.end()
    return hasFailed ? .failed : .done
  }
}

extension Console {
  /// Reports the products that are missing in `response`; returns whether it has all.
  func reportMissing(in response: ProductsResponse) -> Bool {
    for text in response.invalidProductIdentifiers {
      let question = Suggestion.question(text, among: response.offeredIdentifiers.map(\.rawValue))
      report(
        ContentError(
          .productUnknown, "The store does not offer \(text)",
          remedy: "\(question)Check the identifier, or list the products of the store",
          subject: text))
    }
    response.failures.forEach(report)
    return response.invalidProductIdentifiers.isEmpty && response.failures.isEmpty
  }
}
