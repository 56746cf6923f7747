import HostedModel
import FoundationEssentials
import HostedLedger
import HostedHTTPValues

/// Requests for lists.
extension StoreAPI {
  private static let maximumProducts = 200
  /// The maximum length of the query of a link; proxies limit the head of a response.
  private static let maximumQuery = 2_000

  /// The purchases of an account; without `all`, only those that can be restored.
  func purchases(_ call: Call, all: Bool) throws -> HTTPResponse<APIBody> {
    let account = try call.access.account(call.route.name)
    let since = try call.location.number("since", 0...Int64.max, default: 0)
    let limit = Int(try call.location.number("limit", 1...1_000, default: 1_000))
    let found = try ledger.purchases(account: account, after: since, limit: limit + 1, all: all)
    let page = found.prefix(limit)
    let revision = page.last?.revision ?? since
    let hasMore = found.count > limit
    let list = all ? "history" : "entitlements"
    let next =
      "/v1/accounts/\(PercentEncoding.component(call.route.name))/\(list)"
      + "?since=\(revision)&limit=\(limit)"
    return try .tagged(
      .object([
        "transactions": .array(page.map(\.json)), "revision": .integer(revision),
        "hasMore": .bool(hasMore),
      ]), to: call.request, headers: HTTPHeaders(hasMore ? [.link(toNext: next)] : []))
  }

  /// A page of the named products, or of all.
  func products(_ call: Call) throws -> HTTPResponse<APIBody> {
    // Read first: if the catalog changes now, the client asks once more than necessary.
    let version = try catalog.version
    let tag = PercentEncoding.component(version)
    let texts = Set(call.location.query.filter { $0.name == "id" }.map(\.value)).sorted()
    let cursor = call.location.parameter("cursor")
    let position = cursor.flatMap { try? ProductIdentifier(validating: $0) }
    guard cursor == nil || position != nil else {
      throw Problem.malformed("the cursor of the products is not from this API")
    }
    if let unchanged = HTTPResponse<APIBody>.unchanged(tag, for: call.request) { return unchanged }
    let named = texts.prefix(Self.maximumProducts)
    let known = Set(named.compactMap { try? ProductIdentifier(validating: $0) })
    let malformed = named.filter { (try? ProductIdentifier(validating: $0)) == nil }
    let found =
      try texts.isEmpty
      ? catalog.page(after: position, limit: Self.maximumProducts) : catalog.products(known)
    let products = found.products.sorted { $0.productIdentifier < $1.productIdentifier }
    let document = JSONValue.object([
      "products": .array(try products.map { try $0.json() }),
      "invalid": .array(Set(found.invalid + malformed).sorted().map { .string($0) }),
      "failures": .array(found.failures.map(\.json)),
      "version": .string(version),
    ])
    let query =
      try found.next.map { "cursor=\($0.rawValue)" }
      ?? Self.query(of: texts.dropFirst(Self.maximumProducts))
    let link = HTTPHeaders(query.map { [.link(toNext: "/v1/products?\($0)")] } ?? [])
    guard found.failures.isEmpty else {
      // Without an entity tag: the next look-up may succeed.
      return .json(200, document, headers: link)
    }
    return try .tagged(document, tag, to: call.request, headers: link)
  }

  /// The query for the products with the other identifiers, if there are any.
  private static func query(of others: ArraySlice<String>) throws -> String? {
    guard !others.isEmpty else { return nil }
    let query = others.map { "id=\(PercentEncoding.component($0))" }.joined(separator: "&")
    guard query.utf8.count <= maximumQuery else {
      throw Problem.malformed("it has too many parameters id")
    }
    return query
  }
}

extension Product {
  fileprivate func json() throws -> JSONValue {
    try JSONValue(parsing: Array(JSONEncoder().encode(self)))
  }
}

extension ContentError {
  /// Without the cause, which is for the operator.
  fileprivate var json: JSONValue {
    .object([
      "code": .integer(Int64(code.rawValue)), "message": .string(message),
      "remedy": .string(remedy), "subject": subject.map { .string($0) } ?? .null,
    ])
  }
}
