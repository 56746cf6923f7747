import HostedHTTPValues
import HostedModel
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedStoreAPI

@Suite("A catalog that hangs", .waiting, .timeLimit(.hang))
struct HungCatalogTests {
  /// Begins `count` requests, and returns their responses.
  private func begin(_ count: Int, _ target: String, _ token: String, to store: TestStore)
    -> Watched<[HTTPResponse<APIBody>]>
  {
    let responses = Watched<[HTTPResponse<APIBody>]>([])
    let headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
    for _ in 0..<count {
      store.api.handle(HTTPRequest("GET", target, headers: headers)) { response in
        responses.change { $0.append(response) }
      }
    }
    return responses
  }

  @Test func `It delays only requests that need it, and no thread that calls the API`() async throws
  {
    let store = try TestStore()
    let token = try store.token(.purchase)
    await store.buy("known", token)
    store.catalog.state.change { $0.isHeld = true }
    defer { store.catalog.state.change { $0.isHeld = false } }
    let waiting = begin(10, "/v1/products?id=book", token, to: store)
    async let new = store.buy("new", token)
    #expect(await store.buy("known", token).status == 200)
    #expect(await store.send("GET", "/v1/purchases/known", token).status == 200)
    #expect(await store.send("GET", "/healthz").status == 200)
    #expect(waiting.value.isEmpty)
    store.catalog.state.change { $0.isHeld = false }
    #expect(await new.status == 201)
    await waiting.wait { $0.count == 10 }
    #expect(waiting.value.allSatisfy { $0.status == 200 })
  }

  @Test func `Too many requests for it are refused at once`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    store.catalog.state.change { $0.isHeld = true }
    defer { store.catalog.state.change { $0.isHeld = false } }
    let responses = begin(300, "/v1/products", token, to: store)
    let refused = responses.value
    #expect(refused.count >= 40)
    #expect(
      refused.allSatisfy { $0.status == 503 && $0.isProblem && $0.header("Retry-After") == "5" })
    store.catalog.state.change { $0.isHeld = false }
    await responses.wait { $0.count == 300 }
    #expect(responses.value.count { $0.status == 200 } == 300 - refused.count)
  }
}
