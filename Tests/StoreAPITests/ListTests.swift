import HostedHTTPValues
import HostedModel
import HostedShop
import HostedTestSupport
import Testing
import HostedTestTraits

@testable import HostedStoreAPI

@Suite(.waiting, .timeLimit(.hang))
struct ListTests {
  private func transactions(_ response: HTTPResponse<APIBody>) -> [String] {
    guard case .array(let list)? = response.document["transactions"] else { return [] }
    return list.compactMap { $0["transactionIdentifier"]?.string }
  }

  @Test func `entitlements are the restorable purchases; the history has all`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    for (transaction, product) in [
      ("1", "book"), ("2", "coins"), ("3", "magazine"), ("4", "magazine"),
    ] {
      await store.buy(transaction, token, product: product, account: "a")
    }
    await store.buy("5", token, account: "b")
    _ = await store.send("POST", "/v1/purchases/4/refund", token)
    let owned = await store.send("GET", "/v1/accounts/a/entitlements", token)
    #expect(owned.status == 200 && transactions(owned) == ["1", "3"])
    #expect(owned.document["hasMore"] == .bool(false))
    let history = await store.send("GET", "/v1/accounts/a/history", token)
    #expect(transactions(history) == ["1", "2", "3", "4"])
    let none = await store.send("GET", "/v1/accounts/c/history", token)
    #expect(none.status == 200 && transactions(none) == [])
  }

  @Test func `pages continue after a revision`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    for number in 0..<5 { await store.buy("\(number)", token, product: "magazine", account: "a") }
    var (found, since): ([String], Int64) = ([], 0)
    for (count, hasMore) in [(2, true), (2, true), (1, false), (0, false)] {
      let page = await store.send(
        "GET", "/v1/accounts/a/entitlements?limit=2&since=\(since)", token)
      #expect(transactions(page).count == count)
      #expect(page.document["hasMore"] == .bool(hasMore))
      found += transactions(page)
      since = try #require(page.document["revision"]?.integer)
    }
    #expect(found == ["0", "1", "2", "3", "4"])
    for query in [
      "limit=0", "limit=1001", "limit=-1", "limit=x", "limit=", "since=-1", "since=1.5",
      "since=99999999999999999999", "since=%2B1",
    ] {
      let response = await store.send("GET", "/v1/accounts/a/history?\(query)", token)
      #expect(response.status == 400 && response.isProblem, "\(query)")
    }
  }

  @Test func `a page of purchases links to the next one`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    for number in 0..<5 {
      await store.buy("\(number)", token, product: "magazine", account: "a/b?>")
    }
    let description = try JSONValue(parsing: OpenAPIDocument.bytes)["components"]
    let pattern = try #require(
      description?["headers"]?["Link"]?["schema"]?["pattern"]?.string)
    for list in ["entitlements", "history"] {
      var (found, pages): ([String], Int) = ([], 0)
      var next: String? = "/v1/accounts/a%2fb%3f%3e/\(list)?limit=2"
      while let path = next, pages < 10 {
        let page = await store.send("GET", path, token)
        found += transactions(page)
        pages += 1
        let link = page.header("Link")
        #expect((link != nil) == (page.document["hasMore"] == .bool(true)))
        if let link { #expect(try link.contains(Regex(pattern)), "\(link)") }
        next = link.map { String($0.dropFirst().prefix { $0 != ">" }) }
      }
      #expect(found == ["0", "1", "2", "3", "4"] && pages == 3)
    }
  }

  @Test(.slow) func `a page has at most 1,000 purchases`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    let changes = try (0...1_000).map {
      LedgerChange.purchase(try PurchaseDraft(test: "t-\($0)", "book", "a"))
    }
    for result in try store.ledger.commit(changes, at: store.clock.value) {
      _ = try result.get()
    }
    for list in ["entitlements", "history"] {
      let page = await store.send("GET", "/v1/accounts/a/\(list)", token)
      #expect(transactions(page).count == 1_000)
      #expect(page.document["hasMore"] == .bool(true))
    }
  }

  @Test func `an unchanged list is not sent again`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    await store.buy("1", token, account: "a")
    let path = "/v1/accounts/a/entitlements"
    let first = await store.send("GET", path, token)
    let tag = try #require(first.header("ETag"))
    #expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
    func status(_ value: String) async -> Int {
      await store.send("GET", path, token, headers: ["If-None-Match": value]).status
    }
    for value in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
      #expect(await status(value) == 304, "\(value)")
    }
    let unchanged = await store.send(
      "GET", path, token, headers: ["If-None-Match": tag])
    #expect(unchanged.bytes.isEmpty && unchanged.header("ETag") == tag)
    #expect(await status("\"other\"") == 200)
    await store.buy("2", token, product: "magazine", account: "a")
    #expect(await status(tag) == 200)
  }

  @Test func `a name in a path may contain any visible character`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    for (number, account) in [
      "a/b", "/", "../c", "a//../b", "%", "*", "a?b#c", "_", "\u{fc}",
    ].enumerated() {
      let transaction = "\(number)/\(number)%?"
      let bought = await store.buy(transaction, token, account: account)
      #expect(bought.status == 201)
      // Escapes may have lower case, too.
      let name = PercentEncoding.component(account)
      for form in [name, name.lowercased()] {
        for list in ["entitlements", "history"] {
          let response = await store.send("GET", "/v1/accounts/\(form)/\(list)", token)
          #expect(transactions(response) == [transaction], "\(account)")
        }
      }
      let purchase = "/v1/purchases/\(PercentEncoding.component(transaction))"
      #expect(await store.send("GET", purchase, token).document == bought.document)
      #expect(await store.send("POST", "\(purchase)/finish", token).status == 204)
      let path = "/v1/accounts/\(name)"
      #expect(await store.send("POST", "\(path)/erase", token).status == 200)
      let erased = await store.send("GET", "\(path)/history", token)
      #expect(erased.status == 200 && transactions(erased) == [])
    }
  }

  // MARK: Products

  @Test func `named products are found, and others are listed as invalid`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    let response = await store.send(
      "GET", "/v1/products?id=book&id=unknown&id=a%20b&id=coins", token)
    #expect(response.status == 200 && response.header("ETag") == "\"1\"")
    #expect(response.document["invalid"] == .array([.string("a b"), .string("unknown")]))
    #expect(response.document["version"] == .string("1"))
    guard case .array(let products)? = response.document["products"] else {
      Issue.record("no products")
      return
    }
    #expect(products.map { $0["productIdentifier"]?.string } == ["book", "coins"])
    #expect(products.first?["price"] == .string("2.99"))
    let only = await store.send("GET", "/v1/products?id=%2F", token).document
    #expect(only["products"] == .array([]) && only["invalid"] == .array([.string("/")]))
  }

  @Test func `all products are in pages of 200, tagged with the catalog's version`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    let names = (1_000..<1_450).map { "p\($0)" }
    store.catalog.state.change {
      $0.products = names.compactMap { try? ProductIdentifier(validating: $0) }
        .map { TestCatalog.product($0) }.shuffled()
    }
    var (found, next): ([String], String?) = ([], "/v1/products")
    while let path = next {
      let page = await store.send("GET", path, token)
      guard case .array(let products)? = page.document["products"] else { break }
      found += products.compactMap { $0["productIdentifier"]?.string }
      next = page.header("Link").map { String($0.dropFirst().prefix { $0 != ">" }) }
      #expect(next == nil || products.count == 200)
    }
    #expect(found == names)
    for cursor in ["..", "a%20b", "a%00", "1.2/3"] {
      let response = await store.send("GET", "/v1/products?cursor=\(cursor)", token)
      #expect(response.status == 400 && response.isProblem, "\(cursor)")
    }
    let headers: HTTPHeaders = ["If-None-Match": "\"1\""]
    // No product is read.
    store.catalog.state.change { $0.isHeld = true }
    #expect(await store.send("GET", "/v1/products", token, headers: headers).status == 304)
    store.catalog.state.change { ($0.isHeld, $0.version) = (false, "2") }
    #expect(await store.send("GET", "/v1/products", token, headers: headers).status == 200)
  }

  @Test func `named products are in pages, too`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    let names = (100..<500).map { "p\($0)" }
    store.catalog.state.change {
      $0.products = names.compactMap { try? ProductIdentifier(validating: $0) }
        .map { TestCatalog.product($0) }
    }
    let description = try JSONValue(parsing: OpenAPIDocument.bytes)["components"]
    let pattern = try #require(
      description?["headers"]?["Link"]?["schema"]?["pattern"]?.string)
    let invalid = ["a b", "\u{fc}"]
    var (found, refused, pages): ([String], [String], Int) = ([], [], 0)
    let query = (names + ["a%20b", "%C3%BC", "p100"]).map { "id=\($0)" }.joined(separator: "&")
    var next: String? = "/v1/products?\(query)"
    while let path = next {
      let page = await store.send("GET", path, token)
      guard case .array(let products)? = page.document["products"],
        case .array(let unknown)? = page.document["invalid"]
      else { break }
      #expect(products.count + unknown.count <= 200)
      found += products.compactMap { $0["productIdentifier"]?.string }
      refused += unknown.compactMap(\.string)
      if let link = page.header("Link") { #expect(try link.contains(Regex(pattern)), "\(link)") }
      next = page.header("Link").map { String($0.dropFirst().prefix { $0 != ">" }) }
      pages += 1
    }
    #expect(found == names && refused == invalid && pages == 3)
    // The rest would not fit into the head of a response.
    let long = (1_000..<1_400).map { "id=product-\($0)" }.joined(separator: "&")
    let response = await store.send("GET", "/v1/products?\(long)", token)
    #expect(response.status == 400 && response.isProblem)
  }

  @Test func `a product that cannot be looked up has an error without its cause`() async throws {
    let store = try TestStore()
    store.catalog.state.change {
      $0.failures = [
        ContentError(
          .storeDamaged, "Damaged", remedy: "Repair it", subject: "book", cause: "secret")
      ]
    }
    let token = try store.token(.read)
    let response = await store.send("GET", "/v1/products?id=book", token)
    #expect(response.status == 200 && response.header("ETag") == nil)
    #expect(
      response.document["failures"]
        == .array([
          .object([
            "code": .integer(203), "message": .string("Damaged"), "remedy": .string("Repair it"),
            "subject": .string("book"),
          ])
        ]))
  }

  @Test func `events are served to readers`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    let response = await store.send("GET", "/v1/events", token)
    #expect(response.status == 200 && response.document["cursor"]?.string != nil)
    for query in ["wait=31", "wait=-1", "limit=0", "limit=201"] {
      #expect(await store.send("GET", "/v1/events?\(query)", token).status == 400)
    }
    let stream = await store.send(
      "GET", "/v1/events", token, headers: ["Accept": "text/event-stream"])
    guard case .stream(let events) = stream.body else {
      Issue.record("no stream")
      return
    }
    events.cancel()
  }
}
