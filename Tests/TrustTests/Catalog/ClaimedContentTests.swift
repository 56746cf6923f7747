import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedContent
import HostedTestSupport
import Testing

/// Catalogs that our publisher does not write, as a broken or hostile one would sign them.
@Suite struct ClaimedContentTests: ClientTests {
  let fixture: ClientFixture

  init() throws { fixture = try ClientFixture() }

  /// Returns a store with one list of products with these contents, each in one version.
  private func list(
    _ products: [ProductIdentifier: [ProductIdentifier]],
    owners: [ProductIdentifier: ProductIdentifier] = [:]
  ) throws -> SampleCatalog {
    var list = try SampleCatalog(sample, bits: 0)
    list.owners = owners
    for (product, contents) in products {
      list.records[product] = try SampleCatalog.record(product, contents: contents).json
    }
    return list
  }

  /// Returns the catalog as a new client reads it.
  private func snapshot(of list: SampleCatalog) throws -> CatalogSnapshot {
    store.put(try list.files())
    let number = try folder.opened().entries().count
    return try catalog("trust-\(number)").refresh()
  }

  /// The products that a list of all products refuses, and that are not available alone either.
  private func refused(_ list: SampleCatalog) throws -> [String] {
    let snapshot = try snapshot(of: list)
    let response = snapshot.products(nil)
    let refused = response.failures.compactMap(\.subject)
    #expect(response.products.count + refused.count == list.records.count)
    for product in list.records.keys {
      let isRefused = (try? snapshot.product(product)) == nil
      #expect(isRefused == refused.contains(product.rawValue))
    }
    return refused
  }

  /// The error for the product `a`.
  private func error(_ list: SampleCatalog) throws -> ContentError? {
    let snapshot = try snapshot(of: list)
    return #expect(throws: ContentError.self) { try snapshot.product("a") }
  }

  @Test func `a product's own content comes first, then the others by identifier`() throws {
    let list = try list(["m": ["z", "m", "a"]], owners: ["a": "m", "z": "m"])
    let product = try snapshot(of: list).product("m")
    #expect(product.contents.map(\.contentIdentifier.rawValue) == ["m", "a", "z"])
  }

  @Test func `a product that claims the content of another is refused, and others are not`()
    throws
  {
    #expect(try refused(list(["a": ["a"], "b": ["a", "b"], "c": ["c"]])) == ["b"])
  }

  @Test func `a product that claims a product without content is refused`() throws {
    let list = try list(["a": ["b"], "b": [], "c": []])
    #expect(try refused(list) == ["a"])
    let error = try error(list)
    #expect(error?.code == .contentClaimed)
    #expect(error?.subject == "a")
  }

  @Test func `a content that two products claim belongs to the owner in its entry`() throws {
    let contents: [ProductIdentifier: [ProductIdentifier]] = [
      "a": ["a", "x"], "b": ["x"], "c": ["c", "y"],
    ]
    #expect(try refused(list(contents, owners: ["x": "b", "y": "c"])) == ["a"])
    #expect(try refused(list(contents, owners: ["x": "c", "y": "c"])) == ["a", "b"])
  }

  @Test func `a content without an entry is refused`() throws {
    let list = try list(["a": ["a", "x"], "b": ["b"]])
    #expect(try refused(list) == ["a"])
    let error = try error(list)
    #expect(error?.code == .storeDamaged)
    #expect(error?.message.contains("no entry of x") == true)
  }

  /// Changes in the text of the record of `a`, which has the contents `a` and `x`.
  static let contradictions = [
    ("a version twice", #""contentIdentifier":"x","#, ""),
    ("a path outside its product", "targets/a/1/x/package", "targets/b/1/x/package"),
    ("a path above its product", "targets/a/1/x/package", "targets/a/../b/package"),
    ("a reserved name", #""contentIdentifier":"x""#, #""contentIdentifier":"content.pkg""#),
  ]

  @Test(arguments: contradictions)
  func `a record that contradicts itself is refused`(what: String, old: String, new: String)
    throws
  {
    var list = try list(["a": ["a", "x"], "b": ["b"]], owners: ["x": "a"])
    #expect(try refused(list).isEmpty)
    let text = String(decoding: try #require(list.records["a"]), as: UTF8.self)
    #expect(text.contains(old), "\(what): \(text)")
    list.records["a"] = Array(text.replacing(old, with: new).utf8)
    #expect(try refused(list) == ["a"])
    #expect(try error(list)?.code == .storeDamaged)
  }
}
