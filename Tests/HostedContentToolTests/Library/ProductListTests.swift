import ContentModel
import ContentStore
import TestSupport
import TestTraits
import Testing

/// `products` with more products than it sorts.
@Suite("Long lists of products", .long, .timeLimit(.hang))
struct ProductListTests {
  @Test("The JSON document of a long list has the products that the store does not offer", .slow)
  func invalid() throws {
    let tool = try Tool()
    let names = (1...1_001).map { "p\($0)" }
    let store = try StoreFolder.create(at: tool.folder.path("store"))
    let products = try names.map { (try ProductIdentifier(validating: $0), ProductDetails()) }
    try store.add(Dictionary(uniqueKeysWithValues: products))
    let result = try tool.fail(["products", "missing", "--store", "store", "--json"] + names)
    let json = try result.json()
    #expect((json["products"] as? [Any])?.count == names.count)
    #expect(json["invalidProductIdentifiers"] as? [String] == ["missing"])
  }
}
