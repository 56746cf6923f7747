import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Records of products that a hostile server or a broken publisher sends.
///
/// A record that is refused affects only its product, and the error names the product or the file.
@Suite struct RecordAttackTests: ClientTests {
  let fixture: ClientFixture
  private let honest: SampleCatalog
  private let products: [ProductIdentifier]
  /// The bin and the product that are attacked.
  private let bin = "bin-1"
  private let product: ProductIdentifier

  init() throws {
    fixture = try ClientFixture()
    honest = try SampleCatalog.withThreeProductsInEachBin(fixture.sample)
    products = honest.records.keys.sorted()
    product = try #require(try honest.products(in: bin).first)
    store.put(try honest.files())
  }

  /// Expects that only the attacked product cannot be read, and that the error has this code and
  /// subject.
  ///
  /// With `isListed`, this also holds for a list of all products.
  private func expectRefusal(
    _ code: ContentError.Code, subject: String, isListed: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let rest = products.filter { $0 != product }
    let snapshot = try catalog().refresh()
    for other in rest {
      let found = try snapshot.product(other)
      #expect(found.contents.count == 1, sourceLocation: location)
    }
    let calls: [() throws -> Void] = [
      { _ = try snapshot.product(product) }, { _ = try snapshot.offers(of: product) },
    ]
    for call in calls {
      let error = #expect(throws: ContentError.self, sourceLocation: location) { try call() }
      #expect(error?.code == code, sourceLocation: location)
      #expect(error?.subject == subject, sourceLocation: location)
    }
    var responses = [snapshot.products(Set(products))]
    if isListed { responses.append(snapshot.products(nil)) }
    for response in responses {
      #expect(response.products.map(\.productIdentifier) == rest, sourceLocation: location)
      #expect(response.failures.map(\.code) == [code], sourceLocation: location)
      #expect(response.failures.map(\.subject) == [product.rawValue], sourceLocation: location)
    }
  }

  /// Removes the records file of the attacked bin.
  private func removeRecordsFile() throws { store.remove(try honest.recordsPath(of: bin)) }

  // MARK: Records files

  @Test(arguments: ["missing", "damaged", "empty", "longer"])
  func `without a valid records file, each record of its list is read alone`(_ damage: String)
    throws
  {
    let path = try honest.recordsPath(of: bin)
    var bytes = try honest.recordsFile(of: bin)
    switch damage {
    case "missing": store.remove(path)
    case "damaged":
      bytes[bytes.count / 2] ^= 1
      store.put([path: bytes])
    case "empty": store.put([path: []])
    default: store.put([path: bytes + bytes])
    }
    let snapshot = try catalog().refresh()
    _ = store.takeFetched()
    let response = snapshot.products(nil)
    #expect(response.products.map(\.productIdentifier) == products)
    #expect(response.failures.isEmpty)
    let alone = store.takeFetched().filter { $0.hasSuffix(".product.json") }
    #expect(try Set(alone) == Set(honest.products(in: bin).map { try honest.path(of: $0) }))
  }

  @Test func `lines of a records file that the list does not authenticate are ignored`() throws {
    let foreign = try SampleCatalog.record(product, title: "Evil").json
    let others = try honest.products(in: bin).dropFirst().compactMap { honest.records[$0] }
    let file = RecordsFile.bytes([foreign, Array("garbage".utf8)] + others)
    let digest = try Digest(of: file)
    let role = TargetsRole(
      version: 1, expires: sample.expires, targets: try honest.targets(in: bin),
      details: ListDetails(role: .delegated(bin), length: Int64(file.count), digest: digest))
    store.put([honest.path(of: bin): try honest.signed(role), RecordsFile.path(digest): file])
    let snapshot = try catalog().refresh()
    _ = store.takeFetched()
    let response = snapshot.products(nil)
    #expect(response.products.map(\.productIdentifier) == products)
    #expect(Set(response.products.map { $0.localizedTitle() }) == ["Title"])
    let alone = store.takeFetched().filter { $0.hasSuffix(".product.json") }
    #expect(try alone == [honest.path(of: product)])
  }

  // MARK: Records that differ from their entries

  @Test func `a record with another digest than its entry is refused`() throws {
    let other = try SampleCatalog.record(product, title: "Evil").json
    store.put([try honest.path(of: product): other])
    // The records file has the signed record.
    try expectRefusal(.digestMismatch, subject: StorePath.entry(product), isListed: false)
    try folder.opened().removeTree("trust")
    try removeRecordsFile()
    try expectRefusal(.digestMismatch, subject: StorePath.entry(product))
  }

  @Test func `the record of another product is refused`() throws {
    let other = try #require(honest.records[products.last { $0 != product } ?? product])
    try removeRecordsFile()
    store.put([try honest.path(of: product): other])
    try expectRefusal(.digestMismatch, subject: StorePath.entry(product))
  }

  @Test func `a missing record is an error that names its file`() throws {
    try removeRecordsFile()
    let path = try honest.path(of: product)
    store.remove(path)
    try expectRefusal(.storeMissing, subject: path)
  }

  @Test func `a record that is longer than the limit is not fetched`() throws {
    let digest = try Digest(of: [9])
    let role = try honest.bin(bin) {
      $0[StorePath.entry(product)] = TargetFile(length: 2 << 20, digest: digest)
    }
    store.put([honest.path(of: bin): try honest.signed(role)])
    try expectRefusal(.limitExceeded, subject: StorePath.entry(product))
    #expect(!store.takeFetched().contains { $0.contains(digest.hex) })
  }

  @Test func `a damaged record in the trust folder is fetched again`() throws {
    _ = try catalog().refresh().product(product)
    let kept = try folder.opened().directory(at: ["trust", "records"])
    let name = try #require(try kept.entries().first).name
    for bytes in [Array("{}".utf8), []] {
      try kept.replaceFile(name, with: bytes)
      _ = store.takeFetched()
      #expect(try catalog().refresh().product(product).contents.count == 1)
      #expect(try store.takeFetched().contains(honest.path(of: product)))
      #expect(try kept.contents(of: name, limit: 1 << 20) == honest.records[product])
    }
  }

  // MARK: Signed records that contradict themselves

  /// Replacements in the text of a record with versions 1 and 2; PRODUCT is the product.
  static let contradictions = [
    ("a version twice", #""contentVersion":"2""#, #""contentVersion":"1.0""#),
    ("a path of another product", "targets/PRODUCT/1/package", "targets/other/1/package"),
    ("a path above its folder", "targets/PRODUCT/1/package", "targets/PRODUCT/../b/package"),
    ("an absolute path", "targets/PRODUCT/1/package", "/targets/PRODUCT/1/package"),
    ("a path with an empty component", "targets/PRODUCT/1/index", "targets/PRODUCT//index"),
    ("a path with a dot", "targets/PRODUCT/1/index", "targets/PRODUCT/./index"),
    ("a path of the metadata", "targets/PRODUCT/1/index", "metadata/PRODUCT/index"),
    ("a path of the folder", "targets/PRODUCT/1/index", "targets/PRODUCT"),
    ("a negative length", #""length":1"#, #""length":-1"#),
    ("a negative size", #""installedSize":1"#, #""installedSize":-1"#),
    ("a length that overflows in a sum", #""length":1"#, #""length":9223372036854775807"#),
    ("a size that overflows in a sum", #""installedSize":1"#, #""installedSize":1099511627777"#),
    (
      "a reserved content name", #""contentVersion":"1""#,
      #""contentIdentifier":"x.content.pkg","contentVersion":"1""#
    ),
    (
      "an invalid content name", #""contentVersion":"1""#,
      #""contentIdentifier":"../x","contentVersion":"1""#
    ),
    ("an invalid version", #""contentVersion":"1""#, #""contentVersion":"one""#),
    ("an invalid retired content", "{", #"{"retiredVersions":{"../x":"1"},"#),
    ("another product", #""productIdentifier":"PRODUCT""#, #""productIdentifier":"other""#),
    ("no text", #""en":{"description":"","title":"Title"}"#, ""),
    ("no JSON", "{", "<"),
  ]

  @Test(.slow, arguments: contradictions)
  func `a signed record that contradicts itself is refused`(
    what: String, old: String, new: String
  ) throws {
    var text = String(
      decoding: try SampleCatalog.record(product, versions: ["1", "2"]).json, as: UTF8.self)
    let found = text.firstRange(of: old.replacing("PRODUCT", with: product.rawValue))
    let range = try #require(found, "\(what): \(text)")
    text.replaceSubrange(range, with: new.replacing("PRODUCT", with: product.rawValue))
    var broken = honest
    broken.version = 2
    broken.records[product] = Array(text.utf8)
    store.put(try broken.files())
    try expectRefusal(.storeDamaged, subject: product.rawValue)
  }

  // MARK: Contents with names of their own

  @Test func `a content needs the entry of its owner, in any bin`() throws {
    var broken = honest
    let owner = try #require(try honest.products(in: "bin-2").first)
    let stranger = try #require(products.first { $0 != owner })
    let content = try #require(
      try BinNames.products(1, prefix: "content", bin: 1, bits: 2).first)
    broken.records[owner] = try SampleCatalog.record(owner, contents: [content]).json
    broken.owners = [content: owner]
    broken.version = 2
    store.put(try broken.files())
    let snapshot = try catalog("first").refresh()
    #expect(try snapshot.product(owner).contents.map(\.contentIdentifier) == [content])
    #expect(code { _ = try snapshot.product(content) } == .productUnknown)

    // Without the bin of the content, nothing shows that the product owns it.
    let path = broken.path(of: bin)
    store.remove(path)
    let response = try catalog("second").refresh().products(nil)
    let rest = try products.filter { try $0 != owner && honest.bin(of: $0) != bin }
    #expect(response.products.map(\.productIdentifier) == rest)
    #expect(response.failures.map(\.subject) == [path, owner.rawValue])

    for (owners, expected) in [
      ([:], .storeDamaged), ([content: stranger], .contentClaimed),
    ] as [([ProductIdentifier: ProductIdentifier], ContentError.Code)] {
      broken.owners = owners
      broken.version += 1
      store.put(try broken.files())
      let snapshot = try catalog("\(broken.version)").refresh()
      let error = #expect(throws: ContentError.self) { try snapshot.product(owner) }
      #expect(error?.code == expected && error?.subject == owner.rawValue)
      #expect(snapshot.products(nil).products.count == products.count - 1)
    }
  }
}
