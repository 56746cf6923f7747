import HostedModel
import HostedPackage
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Versions that were published by mistake, for the publisher.
@Suite(.long) struct WithdrawnVersionTests {
  private let fixture: PublisherFixture
  private let store: StoreFolder
  private let book = ProductIdentifier("book")

  init() throws {
    fixture = try PublisherFixture()
    store = try fixture.create()
  }

  private func publish(_ versions: String...) throws {
    for version in versions {
      try store.publish([fixture.package("book", version)], now: fixture.now)
    }
  }

  private func withdraw(_ version: String) throws {
    try store.withdraw(book, version: ContentVersion(validating: version), now: fixture.now)
  }

  private func retire(_ version: String) throws {
    try store.retire(book, version: ContentVersion(validating: version), now: fixture.now)
  }

  /// The offered versions, newest first.
  private func offered() throws -> [String] {
    try store.products().flatMap(\.versions).map(\.version.rawValue)
  }

  /// The record of the book, as a new client sees it.
  private func record() throws -> CatalogRecord {
    let trust = try TemporaryFolder()
    defer { withExtendedLifetime(trust) {} }
    let targets = try fixture.client(trust).refresh(initialRoot: store.initialRoot())
    return try #require(try targets.record(of: book))
  }

  /// Publishes other bytes with this version.
  ///
  /// Returns the error.
  private func refusal(of version: String) throws -> ContentError? {
    let directory = try fixture.folder.opened()
    let number = try directory.entries().count
    let source = try directory.createDirectory("other-\(number)", exclusive: true)
    try source.createDirectory("Contents").replaceFile("other", with: Array("other".utf8))
    let output = "other-\(number).pkg"
    _ = try buildPackage(
      folder: source, output: directory, outputName: output, productIdentifier: book,
      version: ContentVersion(validating: version))
    return #expect(throws: ContentError.self) {
      try store.publish([fixture.folder.path(output)], now: fixture.now)
    }
  }

  // MARK: Withdrawing

  @Test func `a withdrawn version is not offered, its files stay, and a lower one can follow`()
    throws
  {
    try publish("1.8", "9.9")
    let files = try fixture.names("store/targets/book/9.9")
    try withdraw("9.9")
    #expect(try offered() == ["1.8"])
    #expect(try fixture.names("store/targets/book/9.9") == files)
    try publish("1.9.1")
    #expect(try offered() == ["1.9.1", "1.8"])
    let record = try record()
    #expect(record.withdrawnVersions == [book: ["9.9"]])
    #expect(record.retiredVersions.isEmpty)
    #expect(record.offers.map(\.withdrawnVersions) == [["9.9"], ["9.9"]])
  }

  @Test(arguments: ["9.9", "9.9.0"])
  func `the number of a withdrawn version is never used again`(_ version: String) throws {
    try publish("9.9")
    try withdraw("9.9")
    #expect(try offered().isEmpty)
    let error = try refusal(of: version)
    #expect(error?.code == .versionExists)
    #expect(error?.message.contains("was withdrawn") == true)
    // Not even the same bytes.
    let same = fixture.folder.path("book-9.9.pkg")
    #expect(code { try store.publish([same], now: fixture.now) } == .versionExists)
    // Also later, and after other changes of the product.
    try publish("1.9", "10")
    try store.add(book, details: ProductDetails(title: "A Book"), now: fixture.now)
    #expect(try refusal(of: version)?.code == .versionExists)
    #expect(try record().withdrawnVersions == [book: ["9.9"]])
  }

  @Test func `after a retired version is withdrawn, the next retired one counts`() throws {
    try publish("1.8", "1.9", "9.9")
    try retire("1.9")
    try retire("9.9")
    #expect(try refusal(of: "2")?.code == .versionExists)
    try withdraw("9.9")
    #expect(try record().retiredVersions[book]?.first == "1.9")
    for version in ["1.8.5", "1.9"] {
      #expect(try refusal(of: version)?.code == .versionExists)
    }
    try publish("1.9.1")
    #expect(try offered() == ["1.9.1", "1.8"])
    // Below the highest version, only the number is taken.
    try withdraw("1.9")
    #expect(try record().retiredVersions.isEmpty)
    #expect(try record().withdrawnVersions == [book: ["1.9", "9.9"]])
    #expect(try refusal(of: "1.9")?.code == .versionExists)
  }

  @Test func `a version is withdrawn in any spelling, and once`() throws {
    try publish("1.0")
    try withdraw("1")
    #expect(try record().withdrawnVersions[book]?.map(\.rawValue) == ["1.0"])
    #expect(code { try withdraw("1.0") } == .productUnknown)
  }

  @Test func `a version that was never published is not withdrawn`() throws {
    try publish("1.0")
    let before = try fixture.files()
    #expect(code { try withdraw("9.9") } == .productUnknown)
    let other = ProductIdentifier("other")
    #expect(code { try store.withdraw(other, version: "1.0", now: fixture.now) } == .productUnknown)
    #expect(
      code { try store.withdraw(book, version: "1.0", content: other, now: fixture.now) }
        == .productUnknown)
    #expect(try fixture.files() == before)
  }

  @Test func `only the versions of one content are affected`() throws {
    let audio = ProductIdentifier("book.audio")
    let directory = try fixture.folder.opened()
    let source = try directory.createDirectory("audio", exclusive: true)
    try source.createDirectory("Contents").replaceFile("sound", with: [1])
    _ = try buildPackage(
      folder: source, output: directory, outputName: "audio.pkg", productIdentifier: book,
      contentIdentifier: audio, version: "9.9")
    try publish("9.9")
    try store.publish([fixture.folder.path("audio.pkg")], now: fixture.now)
    try store.withdraw(book, version: "9.9", content: audio, now: fixture.now)
    #expect(try offered() == ["9.9"])
    #expect(try record().withdrawnVersions == [audio: ["9.9"]])
    #expect(try record().offers.map(\.withdrawnVersions) == [[]])
    #expect(try refusal(of: "1.9")?.code == .versionExists)
  }

  @Test func `a version of a store with bins is withdrawn like any other`() throws {
    var products: [ProductIdentifier: ProductDetails] = [:]
    for number in 1...130 {
      products[try ProductIdentifier(validating: "p\(number)")] = ProductDetails()
    }
    try store.add(products, now: fixture.now)
    try publish("9.9")
    try withdraw("9.9")
    try publish("1.9.1")
    #expect(try offered() == ["1.9.1"])
    #expect(try record().withdrawnVersions == [book: ["9.9"]])
  }

  // MARK: Records

  /// The record of a book whose version 1.9 is offered, as JSON.
  private func json(retired: String? = nil, withdrawn: String? = nil) throws -> [UInt8] {
    try publish("1.9")
    var text = String(decoding: try record().json, as: UTF8.self)
    text.removeLast()
    if let retired { text += ",\"retiredVersions\":\(retired)" }
    if let withdrawn { text += ",\"withdrawnVersions\":\(withdrawn)" }
    return Array("\(text)}".utf8)
  }

  @Test func `a record keeps its retired and withdrawn versions in order`() throws {
    let read = try CatalogRecord(
      json: json(
        retired: #"{"book":["1.8","1.10"],"x":["1"]}"#, withdrawn: #"{"book":["9.9","2"]}"#),
      of: book)
    #expect(read.retiredVersions == [book: ["1.10", "1.8"], "x": ["1"]])
    #expect(read.withdrawnVersions == [book: ["2", "9.9"]])
    #expect(try CatalogRecord(json: read.json, of: book) == read)
  }

  @Test func `a record without withdrawn versions does not have the key`() throws {
    let read = try CatalogRecord(json: json(), of: book)
    #expect(read.withdrawnVersions.isEmpty)
    #expect(!String(decoding: try read.json, as: UTF8.self).contains("withdrawn"))
  }

  @Test(arguments: [#"{"book":["1.9.0"]}"#, #"{"book":["x"]}"#, #"{"../a":["1"]}"#, "[]"])
  func `a record that offers a withdrawn version, or cannot be read, is damaged`(
    _ withdrawn: String
  ) throws {
    let bytes = try json(withdrawn: withdrawn)
    #expect(code { _ = try CatalogRecord(json: bytes, of: book) } == .storeDamaged)
  }
}
