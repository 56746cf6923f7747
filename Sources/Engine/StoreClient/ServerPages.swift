import HostedCatalog
import HostedSelling
package import HostedModel
import HostedHTTPValues
import HostedTransfer
import FoundationEssentials
import HostedShop

/// Lists of a store server, which are read page by page.
extension StoreServerConnection {
  // MARK: Products

  /// The maximum length of a query with identifiers; servers limit the head of a request.
  private static let queryLimit = 2_000
  /// The maximum number of pages, in case a server always links to another one.
  private static let pageLimit = 20_000

  /// Returns these products, or all if `identifiers` is nil.
  func products(_ identifiers: Set<ProductIdentifier>?) async throws -> ProductsResponse {
    var (products, invalid, failures): ([Product], [String], [ContentError]) = ([], [], [])
    for query in identifiers.map(Self.queries) ?? [""] {
      try await readProducts(query) { page in
        products += page.products.compactMap(\.product)
        invalid += page.invalid?.map(shown) ?? []
        failures += page.failures?.map(error) ?? []
        if page.products.contains(where: { $0.product == nil }) {
          failures.append(.malformedAnswer("a product cannot be read"))
        }
      }
    }
    return ProductsResponse(
      products: products, invalidProductIdentifiers: invalid.sorted(), failures: failures)
  }

  private static func queries(for identifiers: Set<ProductIdentifier>) -> [String] {
    var queries: [String] = []
    for identifier in identifiers.sorted() {
      let item = "id=\(PercentEncoding.component(identifier.rawValue))"
      if let last = queries.last, last.utf8.count + item.utf8.count < queryLimit {
        queries[queries.count - 1] += "&\(item)"
      } else {
        queries.append("?\(item)")
      }
    }
    return queries
  }

  private func readProducts(_ query: String, _ body: (ProductsPage) -> Void) async throws {
    var query = query
    for _ in 0..<Self.pageLimit {
      let response = try await send("GET", "/v1/products\(query)")
      try check(response)
      let page: ProductsPage
      do {
        page = try JSONDecoder().decode(ProductsPage.self, from: Data(response.body))
      } catch {
        throw ContentError.malformedAnswer("the products cannot be read")
      }
      body(page)
      guard let next = Self.nextQuery(in: response.headers["link"]) else { return }
      guard next != query else { throw ContentError.malformedAnswer("a page links to itself") }
      query = next
    }
    throw ContentError.malformedAnswer("it has too many pages")
  }

  private func error(_ failure: ProductsPage.Failure) -> ContentError {
    ContentError(
      Self.known(failure.code) ?? .serverFailed,
      shown(failure.message ?? "The store server cannot describe a product"),
      remedy: shown(failure.remedy ?? "Ask the store's owner to check the product"),
      subject: failure.subject.map(shown))
  }

  /// Returns the query of the link to the next page (RFC 8288); nil for the last page.
  ///
  /// The rest of the link is ignored, because the token must not be sent elsewhere.
  static func nextQuery(in header: String?) -> String? {
    var rest = (header ?? "")[...]
    while let start = rest.firstIndex(of: "<"), let end = rest[start...].firstIndex(of: ">") {
      let target = rest[rest.index(after: start)..<end]
      let parameters = rest[end...].prefix { $0 != "," }
      rest = rest[parameters.endIndex...]
      let names = parameters.lowercased().filter { !$0.isWhitespace && $0 != "\"" }
      guard names.contains("rel=next"), let mark = target.firstIndex(of: "?") else { continue }
      return String(target[mark...])
    }
    return nil
  }

  // MARK: Purchases of an account

  /// The lists of an account's purchases.
  package enum PurchaseList: String, Sendable {
    /// The restorable purchases that the account owns.
    case entitlements
    /// All purchases, also those that were taken back.
    case history
  }

  /// Calls `body` with each page of an account's purchases; nil is the service's own account.
  ///
  /// Throws `answerUnusable` for a page with a malformed purchase, or with one of another account.
  func readPurchases(
    _ list: PurchaseList, of account: AccountID?, _ body: ([PurchaseRecord]) async throws -> Void
  ) async throws {
    if let refusal = Self.refusal(ofAccount: account) { throw refusal }
    try await readPages(list, of: account ?? "-") { page in
      try await body(
        page.map { json in
          let record = try PurchaseRecord(json: json)
          guard isOf(account, record) else {
            throw ContentError.malformedAnswer("it has a purchase of another account")
          }
          return record
        })
    }
  }

  private func isOf(_ account: AccountID?, _ record: PurchaseRecord) -> Bool {
    guard let found = record.account else { return false }
    return account.map { $0 == found } ?? isOwn(found)
  }

  /// Calls `body` with each page of an account's purchases as JSON.
  package func readPages(
    _ list: PurchaseList, of account: AccountID, _ body: ([JSONValue]) async throws -> Void
  ) async throws {
    let path = "/v1/accounts/\(PercentEncoding.component(account.rawValue))/\(list.rawValue)"
    var revision: Int64 = 0
    for _ in 0..<Self.pageLimit {
      let page = try json(await send("GET", "\(path)?since=\(revision)&limit=1000"))
      let fields = MessageFields(page, of: "a list of purchases")
      let purchases = try fields.list("transactions", limit: 1_000)
      try await body(purchases)
      guard page["hasMore"] == .bool(true) else { return }
      guard let last = purchases.compactMap({ $0["revision"]?.integer }).max(), last > revision
      else { throw fields.invalid("revision") }
      revision = last
    }
    throw ContentError.malformedAnswer("it has too many pages")
  }

  // MARK: Events

  /// The events after a cursor.
  struct EventPage {
    let events: [JSONValue]
    /// The position after these events.
    let cursor: String
  }

  /// The time in seconds that the server waits for an event.
  private static let eventWait = 25

  /// Returns the next events, or none after a while; nil if the server has deleted them.
  ///
  /// Without a cursor, returns the current position at once.
  func events(after cursor: String?) async throws -> EventPage? {
    let wait = cursor == nil ? 0 : Self.eventWait
    let start = cursor.map { "&after=\(PercentEncoding.component($0))" } ?? ""
    let response = try await send("GET", "/v1/events?wait=\(wait)&limit=200\(start)", wait: wait)
    if response.status == 410, cursor != nil { return nil }
    let page = try json(response)
    let fields = MessageFields(page, of: "a list of events")
    let result = EventPage(
      events: try fields.list("events", limit: 1_000),
      cursor: try fields.text("cursor", limit: 256))
    // The same events would be returned forever.
    guard result.events.isEmpty || result.cursor != cursor else { throw fields.invalid("cursor") }
    return result
  }
}

private struct ProductsPage: Decodable {
  let products: [Item]
  let invalid: [String]?
  let failures: [Failure]?

  /// A product that may be unreadable, so that the others can be used.
  struct Item: Decodable {
    let product: Product?

    init(from decoder: any Decoder) throws { product = try? Product(from: decoder) }
  }

  struct Failure: Decodable {
    let code: Int64?
    let message: String?
    let remedy: String?
    let subject: String?
  }
}
