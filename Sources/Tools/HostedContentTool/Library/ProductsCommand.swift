import HostedContent
import HostedFileIO

enum ProductsCommand {
  static let command = Command(
    name: "products", summary: "Lists the products of a store.", operands: "[ID…]",
    options: [
      .store, .json,
      .init("--library", "FOLDER", "a library whose trusted root and recorded versions are used"),
    ] + NetworkArguments.options,
    example: "hostedcontent products --store store"
  ) { arguments, console in
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

/// Prints products as a table or as JSON.
///
/// Up to `limit` products are sorted. More are printed as they arrive, so that a list of any length
/// needs little memory.
private struct ProductPrinter {
  private let console: Console
  /// The identifiers that the store does not offer.
  private let invalid: [String]
  private var waiting: [Product] = []
  /// Whether the first products are printed, after the beginning of the table or JSON document.
  private var hasBegun = false
  private var widths: [Int] = []

  private static let limit = 1_000
  private static let heading = ["product", "version", "size", "price", "title"]

  init(_ console: Console, invalid: [String] = []) {
    self.console = console
    self.invalid = invalid
  }

  var isEmpty: Bool { !hasBegun && waiting.isEmpty }

  mutating func add(_ products: [Product]) throws {
    waiting += products
    if waiting.count > Self.limit { try printWaiting() }
  }

  mutating func end() throws {
    if console.printsJSON {
      guard hasBegun else {
        sortWaiting()
        return try console.print(
          json: Report(products: waiting, invalidProductIdentifiers: invalid))
      }
      try printWaiting()
      console.print(document: "]}")
    } else if !waiting.isEmpty {
      try printWaiting()
    }
  }

  private struct Report: Encodable {
    let products: [Product]
    let invalidProductIdentifiers: [String]
  }

  private mutating func sortWaiting() {
    waiting.sort { $0.productIdentifier < $1.productIdentifier }
  }

  private mutating func printWaiting() throws {
    sortWaiting()
    if console.printsJSON {
      for product in waiting {
        if hasBegun {
          console.print(document: ",")
        } else {
          console.print(document: "{\"invalidProductIdentifiers\":")
          try console.print(json: invalid)
          console.print(document: ",\"products\":[")
          hasBegun = true
        }
        try console.print(json: product)
      }
    } else if hasBegun {
      console.print(rows: waiting.map(Self.row), widths: widths)
    } else {
      widths = console.print(table: waiting.map(Self.row), heading: Self.heading)
    }
    (hasBegun, waiting) = (true, [])
  }

  private static func row(_ product: Product) -> [String] {
    [
      product.productIdentifier.rawValue, product.downloadContentVersion?.rawValue ?? "-",
      product.isDownloadable
        ? Console.bytes(product.downloadContentLengths.clampedSum) : "no content",
      product.price?.description ?? "free",
      product.localizedTitle(),
    ]
  }
}

extension [Int64] {
  /// The sum, or the maximum if it is larger: a store may sign any length.
  var clampedSum: Int64 {
    reduce(0) { sum, number in
      let (larger, isTooLarge) = sum.addingReportingOverflow(number)
      return isTooLarge ? .max : larger
    }
  }
}
