import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Bins that a hostile server or a broken publisher sends; `RecordAttackTests` has the records.
///
/// A bin that is refused affects only its products, and the error names the bin.
@Suite struct BinAttackTests: ClientTests {
  let fixture: ClientFixture
  private let honest: SampleCatalog
  private let products: [ProductIdentifier]
  /// The bin that is attacked.
  private let bin = "bin-1"

  init() throws {
    fixture = try ClientFixture()
    honest = try SampleCatalog.withThreeProductsInEachBin(fixture.sample)
    products = honest.records.keys.sorted()
    store.put(try honest.files())
  }

  /// Replaces the attacked bin of `current`, and expects that clients refuse it.
  ///
  /// Only the products of this bin cannot be read, and the error has this code and names the bin.
  /// The same client accepts the honest bin later. Nil `bytes` is a missing bin. Returns the error.
  @discardableResult
  private func expectRefusal(
    of bytes: [UInt8]?, _ code: ContentError.Code, in current: SampleCatalog? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) throws -> ContentError? {
    let current = current ?? honest
    let path = current.path(of: bin)
    let subject = bytes == nil ? path : "\(bin).json"
    store.put(try current.files())
    if let bytes { store.put([path: bytes]) } else { store.remove(path) }
    let attacked = try current.products(in: bin)
    let rest = products.filter { !attacked.contains($0) }
    let catalog = try catalog()
    let snapshot = try catalog.refresh()

    // One by one, some products, and all products.
    for product in rest {
      let found = try snapshot.product(product)
      #expect(found.contents.count == 1, sourceLocation: location)
    }
    for product in attacked {
      let error = #expect(throws: ContentError.self, sourceLocation: location) {
        try snapshot.product(product)
      }
      #expect(error?.code == code, sourceLocation: location)
      #expect(error?.subject == subject, sourceLocation: location)
    }
    let some = snapshot.products(Set(products))
    #expect(some.products.map(\.productIdentifier) == rest, sourceLocation: location)
    #expect(some.invalidProductIdentifiers.isEmpty, sourceLocation: location)
    #expect(some.failures.map(\.code) == attacked.map { _ in code }, sourceLocation: location)
    let all = snapshot.products(nil)
    #expect(all.products.map(\.productIdentifier) == rest, sourceLocation: location)
    #expect(all.failures.map(\.code) == [code], sourceLocation: location)
    #expect(all.failures.map(\.subject) == [subject], sourceLocation: location)

    // What was refused is not kept.
    store.put(try current.files())
    let healed = try catalog.refresh()
    for product in attacked {
      let found = try healed.product(product)
      #expect(found.contents.count == 1, sourceLocation: location)
    }
    return all.failures.first
  }

  @Test func `honest bins have all products`() throws {
    let snapshot = try catalog().refresh()
    #expect(snapshot.products(nil).products.map(\.productIdentifier) == products)
    for product in products { #expect(try snapshot.product(product).productIdentifier == product) }
    #expect(code { _ = try snapshot.product("unknown") } == .productUnknown)
  }

  @Test func `a missing bin is an error`() throws {
    try expectRefusal(of: nil, .storeMissing)
  }

  @Test func `another bin of the same version is refused`() throws {
    let error = try expectRefusal(of: honest.signed(honest.bin("bin-2")), .metadataDamaged)
    #expect(error?.message.contains("bin-1") == true)
  }

  @Test func `another bin is refused although a search for a target has read it`() throws {
    store.put([honest.path(of: bin): try honest.signed(honest.bin("bin-2"))])
    let targets = try client().refresh(initialRoot: sample.root())
    let product = try #require(try honest.products(in: bin).first)
    #expect(code { _ = try targets.target(StorePath.entry(product)) } == .storeMissing)
    #expect(code { _ = try targets.list(.delegated(bin)) } == .metadataDamaged)
  }

  @Test func `another bin that claims the name is refused`() throws {
    let other = try honest.bin("bin-2", as: bin)
    let error = try expectRefusal(of: honest.signed(other), .metadataDamaged)
    #expect(error?.message.contains("another bin") == true)
  }

  @Test func `a bin without its name is refused`() throws {
    let role = TargetsRole(
      version: 1, expires: sample.expires, targets: try honest.targets(in: bin))
    try expectRefusal(of: honest.signed(role), .metadataDamaged)
  }

  @Test func `an older version of a bin is refused`() throws {
    var later = honest
    later.version = 2
    try expectRefusal(of: honest.signed(honest.bin(bin)), .metadataRolledBack, in: later)
  }

  @Test func `a newer version of a bin than the snapshot lists is refused`() throws {
    var later = honest
    later.version = 2
    try expectRefusal(of: later.signed(later.bin(bin)), .metadataDamaged)
  }

  @Test func `a bin of the same name, made for another number of bins, is refused`() throws {
    var sixteen = try SampleCatalog(sample, bits: 4)
    for product in try BinNames.products(2, prefix: "p", bin: 1, bits: 4) {
      try sixteen.add(product)
    }
    #expect(try sixteen.products(in: bin).count == 2)
    try expectRefusal(of: sixteen.signed(sixteen.bin(bin)), .metadataDamaged)
  }

  @Test func `a bin with an entry of another bin is refused`() throws {
    let foreign = StorePath.entry(try #require(try honest.products(in: "bin-3").first))
    let role = try honest.bin(bin) { $0[foreign] = try SampleRepository.file("evil") }
    let error = try expectRefusal(of: honest.signed(role), .metadataDamaged)
    #expect(error?.message.contains(foreign) == true)
  }

  @Test(.slow, arguments: [RoleName.snapshot, .timestamp, .root, nil])
  func `a bin that another key has signed is refused`(_ role: RoleName?) throws {
    let signer = try role.map { sample.signer($0) } ?? SampleMetadata().signer(.targets)
    try expectRefusal(of: signer.sign(honest.bin(bin)), .signatureInvalid)
  }

  @Test func `a bin without signatures is refused`() throws {
    let unsigned = try JSONValue(parsing: honest.signed(honest.bin(bin)))
      .replacing("signatures", with: .array([]))
    try expectRefusal(of: unsigned.encoded, .signatureInvalid)
  }

  @Test(.slow, arguments: ["", "<html>", "{", "[]"])
  func `a bin that is not metadata is refused`(_ text: String) throws {
    try expectRefusal(of: Array(text.utf8), .metadataDamaged)
  }

  @Test func `a bin that has expired is refused`() throws {
    let role = try honest.bin(bin, expires: sample.now)
    try expectRefusal(of: honest.signed(role), .metadataExpired)
  }

  @Test func `a bin that the snapshot does not list is refused`() throws {
    store.put(try honest.files(unlisted: [bin]))
    let snapshot = try catalog().refresh()
    let product = try #require(try honest.products(in: bin).first)
    let error = #expect(throws: ContentError.self) { try snapshot.product(product) }
    #expect(error?.code == .metadataDamaged && error?.subject == "snapshot.json")
    #expect(error?.message.contains(bin) == true)
    let rest = try products.filter { try honest.bin(of: $0) != bin }
    #expect(snapshot.products(nil).products.map(\.productIdentifier) == rest)
  }

  @Test func `files that no metadata lists are not read`() throws {
    let garbage = Array("garbage".utf8)
    let digest = try Digest(of: garbage).hex
    let planted = [
      "metadata/2.\(bin).json", "metadata/\(bin).json", "metadata/1.bin-4.json",
      "metadata/1.bin-01.json", "metadata/\(digest).records.jsonl",
      "targets/\(products[0])/\(digest).product.json",
    ]
    for path in planted { store.put([path: garbage]) }
    let snapshot = try catalog().refresh()
    #expect(snapshot.products(nil).products.count == products.count)
    #expect(snapshot.products(Set(products)).products.count == products.count)
    #expect(Set(store.takeFetched()).isDisjoint(with: planted))
  }

  @Test func `a snapshot that lists an older version of a bin is refused`() throws {
    let catalog = try catalog()
    var later = honest
    later.version = 3
    store.put(try later.files())
    #expect(try catalog.refresh().products(nil).products.count == products.count)
    later.version = 4
    var files = try later.files()
    let targets = try #require(files["metadata/4.targets.json"])
    let versions = later.names.reduce(into: [String: MetadataFile]()) {
      $0["\($1).json"] = MetadataFile(version: $1 == bin ? 2 : 4)
    }
    let snapshot = try sample.signer(.snapshot).sign(
      SnapshotRole(
        version: 4, expires: sample.expires, targets: MetadataFile(version: 4, bytes: targets),
        others: versions))
    files["metadata/4.snapshot.json"] = snapshot
    files["metadata/timestamp.json"] = try sample.timestamp(4, snapshot: snapshot, 4)
    store.put(files)
    let error = #expect(throws: ContentError.self) { try catalog.refresh() }
    #expect(error?.code == .metadataRolledBack && error?.subject == "\(bin).json")
  }
}
