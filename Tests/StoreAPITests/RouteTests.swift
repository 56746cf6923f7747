import HostedHTTPValues
import HostedModel
import HostedShop
import HostedTestSupport
import Testing
import HostedTestTraits

@testable import HostedStoreAPI

@Suite(.waiting, .timeLimit(.hang))
struct RouteTests {
  /// A request for each operation.
  private static let requests: [(Route.Operation, String, String)] = [
    (.health, "GET", "/healthz"), (.readiness, "GET", "/readyz"),
    (.description, "GET", "/v1/openapi.json"), (.authorize, "GET", "/internal/authorize"),
    (.products, "GET", "/v1/products"), (.purchase, "POST", "/v1/purchases"),
    (.batch, "POST", "/v1/purchases:batch"), (.transaction, "GET", "/v1/purchases/t"),
    (.finish, "POST", "/v1/purchases/t/finish"), (.approve, "POST", "/v1/purchases/t/approve"),
    (.decline, "POST", "/v1/purchases/t/decline"), (.refund, "POST", "/v1/purchases/t/refund"),
    (.revoke, "POST", "/v1/purchases/t/revoke"), (.reverse, "POST", "/v1/purchases/t/reverse"),
    (.entitlements, "GET", "/v1/accounts/a/entitlements"),
    (.history, "GET", "/v1/accounts/a/history"), (.erase, "POST", "/v1/accounts/a/erase"),
    (.events, "GET", "/v1/events"), (.grant, "POST", "/v1/content-grants"),
  ]

  private static func components(_ path: String) -> [String] {
    path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
  }

  @Test func `each operation has one method and one path`() throws {
    #expect(Set(Self.requests.map { $0.0 }) == Set(Route.Operation.allCases))
    #expect(Route.table.count == Self.requests.count)
    for (operation, method, path) in Self.requests {
      let route = try Route(method, Self.components(path))
      #expect(route.operation == operation)
      let named = path.hasPrefix("/v1/purchases/") || path.hasPrefix("/v1/accounts/")
      #expect(route.name.isEmpty == !named)
    }
  }

  @Test func `an unknown path is not found, with and without a token`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    for path in [
      "/", "/v1", "/v1/", "/v2/products", "/v1/products/", "/v1/purchases/",
      "/v1/purchases//finish", "/v1/accounts", "/v1/accounts/a", "/v1/accounts//history",
      "/v1/purchases/t/finish/", "/v1/purchases/t/sell", "/V1/products", "//v1/products", "/v1/*/x",
      "/v1%2Fproducts", "/v1/%2fproducts", "/v1/purchases%2Ft", "/v1/accounts%2Fa/history",
      "/v1/accounts/a/history%2F", "/v1/accounts/a%2Fhistory", "/v1/purchases/t%2Ffinish/x%2F",
    ] {
      for token in [nil, token] {
        let response = await store.send("GET", path, token)
        #expect(response.status == 404 && response.isProblem, "\(path)")
      }
    }
  }

  @Test func `another method is refused, and the response lists the allowed ones`() async throws {
    let store = try TestStore()
    for (_, method, path) in Self.requests {
      for other in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "get"] where other != method {
        let response = await store.send(other, path)
        #expect(response.status == 405 && response.isProblem, "\(other) \(path)")
        let hasHead = method == "GET" && path != "/v1/events"
        #expect(response.header("Allow") == (hasHead ? "GET, HEAD" : method))
      }
    }
    #expect(await store.send("HEAD", "/healthz").status == 200)
  }

  @Test func `each operation needs a key with one of its scopes`() async throws {
    // Without a gate, every key may ask for content.
    let store = try TestStore {
      $0.gate = ContentGate(
        .authRequest, secret: Array("secret".utf8), contentURLs: ["https://content.example"],
        lifetime: .seconds(60))
    }
    for (operation, method, path) in Self.requests {
      guard let scopes = operation.scopes else { continue }
      let missing = await store.send(method, path)
      #expect(missing.status == 401 && missing.isProblem, "\(path)")
      #expect(missing.header("WWW-Authenticate") == "Bearer")
      for scope in KeyScope.allCases {
        let response = try await store.send(method, path, store.token(scope))
        if scopes.contains(scope) {
          #expect(response.status != 401 && response.status != 403, "\(path) \(scope)")
        } else {
          #expect(response.status == 403 && response.isProblem, "\(path) \(scope)")
        }
      }
    }
  }

  @Test func `health, readiness and the description need no key`() async throws {
    let store = try TestStore()
    #expect(await store.send("GET", "/healthz").status == 200)
    #expect(await store.send("GET", "/readyz").status == 200)
    let description = await store.send("GET", "/v1/openapi.json")
    #expect(description.status == 200 && description.bytes == OpenAPIDocument.bytes)
  }

  @Test func `without its ledger, each operation gets 503, and nothing is lost`() async throws {
    let store = try TestStore()
    let token = try store.token(.read, .purchase, .content, .admin)
    let sold = await store.buy("t", token)
    store.database.state.change { $0.failure = .secretFailure }
    #expect(await store.buy("new", token).status == 503)
    for (operation, method, path) in Self.requests where operation.scopes != nil {
      let response = await store.send(method, path, token)
      #expect(response.status == 503 && response.isProblem, "\(path)")
      #expect(response.header("Retry-After") == "1", "\(path)")
      #expect(!String(decoding: response.bytes, as: UTF8.self).contains("ecret"), "\(path)")
    }
    store.database.state.change { $0.failure = nil }
    #expect(await store.buy("t", token).bytes == sold.bytes)
    #expect(await store.buy("new", token).status == 201)
  }

  @Test func `without its ledger or its catalog, the server lives but is not ready`() async throws {
    let store = try TestStore()
    store.catalog.state.change { $0.failure = .secretFailure }
    let first = await store.send("GET", "/readyz")
    #expect(first.status == 503 && first.isProblem && first.header("Retry-After") != nil)
    store.catalog.state.change { $0.failure = nil }
    store.database.state.change { $0.failure = .secretFailure }
    #expect(await store.send("GET", "/readyz").status == 503)
    #expect(await store.send("GET", "/healthz").status == 200)
    store.database.state.change { $0.failure = nil }
    #expect(await store.send("GET", "/readyz").status == 200)
    #expect(store.reports.value == [.secretFailure, .secretFailure])
  }
}
