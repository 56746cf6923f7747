import HostedModel
import ContentStore
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// `products` with more products than it sorts, and with large ones.
@Suite("Lists of products", .long, .timeLimit(.hang))
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
    // Like the keys of a short list.
    #expect(result.output.hasPrefix("{\"invalidProductIdentifiers\":"))
  }

  @Test("The lengths of contents are added up, even if no package can be that long")
  func lengths() {
    let file = SignedFile(path: "a", length: .max, digest: .zero)
    let offer = ContentOffer(
      productIdentifier: "a", contentIdentifier: "a", version: "1", installedSize: 0, package: file,
      index: file)
    let product = Product(
      productIdentifier: "a", type: .nonConsumable, texts: [:], price: nil,
      contents: [offer, offer])
    #expect(product.downloadContentLengths.clampedSum == .max)
    #expect(InstallSession.activeDownloads(of: product.downloadContentLengths) == 3)
  }
}
