import ContentModel

/// Prints products as a table or as JSON.
///
/// Up to `limit` products are sorted. More are printed as they arrive, so that a list of any length
/// needs little memory.
struct ProductPrinter {
  private let console: Console
  /// Products that are not printed yet.
  private var waiting: [Product] = []
  /// How far the output is.
  private var progress = Progress.nothing

  private enum Progress {
    case nothing
    /// The first products are printed: a table with these widths of columns.
    case table(widths: [Int])
    /// The JSON document has its beginning and at least one product.
    case json
  }

  private static let limit = 1_000
  private static let heading = ["product", "version", "size", "price", "title"]

  init(_ console: Console) { self.console = console }

  /// Whether no product was added.
  var isEmpty: Bool {
    if case .nothing = progress { waiting.isEmpty } else { false }
  }

  mutating func add(_ products: [Product]) throws {
    waiting += products
    if waiting.count > Self.limit { try printWaiting() }
  }

  /// Prints the rest; `invalid` are identifiers that the store does not offer.
  mutating func end(invalid: [String]) throws {
    if console.printsJSON {
      guard case .json = progress else {
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
        if case .json = progress {
          console.print(document: ",")
        } else {
          console.print(document: "{\"invalidProductIdentifiers\":[],\"products\":[")
          progress = .json
        }
        try console.print(json: product)
      }
    } else {
      let rows = waiting.map(Self.row)
      if case .table(let widths) = progress {
        console.print(rows: rows, widths: widths)
      } else {
        progress = .table(widths: console.print(table: rows, heading: Self.heading))
      }
    }
    waiting = []
  }

  private static func row(_ product: Product) -> [String] {
    [
      product.productIdentifier.rawValue, product.downloadContentVersion?.rawValue ?? "-",
      product.isDownloadable
        ? Console.bytes(product.downloadContentLengths.reduce(0, +)) : "no content",
      product.price?.description ?? "free",
      product.localizedTitle(),
    ]
  }
}
