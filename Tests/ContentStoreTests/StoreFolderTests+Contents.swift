import HostedModel
import HostedPackage
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Contents and versions of products.
extension StoreFolderTests {
  @Test func `each content of a product has its own folder and versions`() throws {
    let store = try created()
    try store.publish(
      [
        package("a", "1", content: "a.audio"), package("a", "1"),
        package("a", "1.0", content: "0.maps"), package("a", "2", content: "a.audio"),
      ], now: now)
    let targets = try read()
    let a = ProductIdentifier("a")
    #expect(
      Set(targets.targets.keys) == [
        "a/product.json", "a.audio/product.json", "0.maps/product.json",
      ]
    )
    for name in ["a.audio", "0.maps"] {
      let content = try ProductIdentifier(validating: name)
      #expect(try targets.entry(content) == .content(of: a))
      #expect(try targets.record(of: content) == nil)
    }
    let offers = try #require(try targets.record(of: a)).offers
    func parent(_ file: SignedFile) -> String {
      file.path.pathComponents().dropLast().joined(separator: "/")
    }
    #expect(
      offers.map { parent($0.package) } == [
        "targets/a/1", "targets/a/1.0/0.maps", "targets/a/2/a.audio", "targets/a/1/a.audio",
      ])
    for offer in offers {
      #expect(parent(offer.index) == parent(offer.package))
      for file in [offer.package, offer.index] { #expect(try !contents(of: file).isEmpty) }
    }
    let versions = try #require(try store.products().first).versions
    #expect(
      versions.map { "\($0.contentIdentifier) \($0.version)" }
        == ["a 1", "0.maps 1.0", "a.audio 2", "a.audio 1"])
  }

  @Test func `the versions of a product's contents are independent`() throws {
    let store = try created()
    try store.publish([package("a", "1")], now: now)
    let audio = try package("a", "1", content: "a.audio")
    #expect(
      try store.publish([audio], now: now).versions.map(\.contentIdentifier.rawValue) == ["a.audio"]
    )
    #expect(try store.publish([audio], now: now).versions.isEmpty)
    let other = try package("a", "1.0", content: "a.audio", text: "other")
    let error = #expect(throws: ContentError.self) { try store.publish([other], now: now) }
    #expect(error?.code == .versionExists)
    #expect(error?.message.contains("a.audio") == true)
  }

  @Test(
    .slow,
    arguments: [
      (product: "b", content: "a"), ("b", "a.audio"), ("b", "empty"), ("a.audio", nil),
      ("a", "b.only"), ("a", "b"),
    ])
  func `a content of another product, and a product with a content's identifier, are refused`(
    product: String, content: String?
  ) throws {
    let store = try created()
    try store.publish(
      [
        package("a", "1"), package("a", "1", content: "a.audio"), package("b", "1"),
        package("b", "1", content: "b.only"),
      ], now: now)
    try store.add(ProductIdentifier("empty"), now: now)
    let before = try files()
    let path = try package(product, "2", content: content)
    let error = #expect(throws: ContentError.self) { try store.publish([path], now: now) }
    #expect(error?.code == .contentClaimed)
    #expect(error?.message.contains(path) == true)
    #expect(try files() == before)
    let name = ProductIdentifier("a.audio")
    #expect(code { try store.add(name, now: now) } == .contentClaimed)
  }

  @Test func `two products of one publication cannot share a content`() throws {
    let store = try created()
    for second in [("b", "x"), ("x", nil)] {
      let paths = [
        try package("a", "1", content: "x"), try package(second.0, "1", content: second.1),
      ]
      #expect(code { try store.publish(paths, now: now) } == .contentClaimed)
      #expect(code { try store.publish(paths.reversed(), now: now) } == .contentClaimed)
    }
    #expect(try read().version == 1)
  }

  @Test(arguments: ["content.pkg", "Content.Index", "x.content.pkg", "0a.content.INDEX"])
  func `a content with a file name of the store is refused`(content: String) throws {
    let store = try created()
    let path = try package("a", "1", content: content)
    #expect(code { try store.publish([path], now: now) } == .identifierInvalid)
    // As a product's own content, it has no folder beside those files.
    try store.publish([package(content, "1")], now: now)
    #expect(try store.products().map(\.record.productIdentifier.rawValue) == [content])
  }

  @Test(arguments: [
    ProductDetails(price: -1), ProductDetails(price: .nan), ProductDetails(price: 1e12),
    ProductDetails(currency: "euro"), ProductDetails(currency: "eur"),
    ProductDetails(language: ""), ProductDetails(language: "e n"),
    ProductDetails(type: .consumable),
  ])
  func `invalid details are refused`(_ details: ProductDetails) throws {
    let store = try created()
    let path = try package("a", "1")
    #expect(code { try store.publish([path], details: details, now: now) } == .usage)
    #expect(try read().version == 1)
  }

  @Test func `a product with content cannot become a consumable`() throws {
    let store = try created()
    try store.publish([package("com.example.book", "1")], now: now)
    #expect(
      code { try store.add(book, details: ProductDetails(type: .consumable), now: now) } == .usage)
  }

  // MARK: Increasing and retiring

  @Test func `a version that is not higher than all published ones is refused`() throws {
    let store = try created()
    try store.publish([package("com.example.book", "2")], now: now)
    for version in ["1", "1.9", "2.0"] {
      let error = #expect(throws: ContentError.self) {
        try store.publish([package("com.example.book", version)], now: now)
      }
      #expect(error?.code == .versionExists)
    }
    try store.publish([package("com.example.book", "2.0.1")], now: now)
    #expect(try store.products()[0].versions.map(\.version.rawValue) == ["2.0.1", "2"])
  }

  @Test func `a retired version is not offered, its files stay, and its number cannot be reused`()
    throws
  {
    let store = try created()
    try store.publish([package("com.example.book", "1")], now: now)
    try store.publish([package("com.example.book", "2")], now: now)
    let before = try files().keys.filter { $0.hasPrefix("targets/") }
    try store.retire(book, version: ContentVersion("2"), now: now)
    #expect(try store.products()[0].versions.map(\.version.rawValue) == ["1"])
    let record = try bookRecord()
    #expect(record.offers.map(\.version.rawValue) == ["1"])
    #expect(record.retiredVersions == [book: [ContentVersion("2")]])
    #expect(try Set(files().keys).isSuperset(of: before))
    #expect(
      code { try store.publish([package("com.example.book", "2", text: "b")], now: now) }
        == .versionExists)
    // Changing the product's texts does not free the number.
    try store.add(book, details: ProductDetails(title: "Other"), now: now)
    #expect(
      code { try store.publish([package("com.example.book", "1.5")], now: now) } == .versionExists)
    try store.publish([package("com.example.book", "3")], now: now)
    try store.retire(book, version: ContentVersion("1.0"), now: now)
    #expect(try store.products()[0].versions.map(\.version.rawValue) == ["3"])
    #expect(
      code { try store.retire(book, version: ContentVersion("1"), now: now) } == .productUnknown)
  }
}
