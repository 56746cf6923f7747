import ContentModel
import ContentPackage
import ContentStore
import ContentTrust
import Digests
import FileIO
import FoundationEssentials
import TestSupport
import TestTraits
import Testing

@Suite(.long) struct StoreFolderTests {
  private let folder: TemporaryFolder
  private let now = Date(timeIntervalSince1970: 1_900_000_000)
  private let book: ProductIdentifier
  private static let day: TimeInterval = 86_400

  init() throws {
    folder = try TemporaryFolder()
    book = ProductIdentifier("com.example.book")
  }

  private var storePath: String { folder.path("shop/store") }

  private func created() throws -> StoreFolder { try StoreFolder.create(at: storePath, now: now) }

  /// Returns the store's files as a new client sees them at `time`.
  private func read(at time: Date? = nil, root: [UInt8]? = nil) throws -> TrustedTargets {
    let time = time ?? now
    let directory = try folder.opened()
    let number = try directory.entries().count
    let client = TrustClient(
      trustFolder: try directory.createDirectory("trust-\(number)", exclusive: true),
      fetcher: FolderFetcher(try FileSystem.real.directory(at: storePath)), now: { time })
    return try client.refresh(
      initialRoot: try root ?? StoreFolder.open(at: storePath).initialRoot())
  }

  /// Returns the record of the book as a new client sees it.
  private func bookRecord() throws -> CatalogRecord { try #require(try read().record(of: book)) }

  /// Returns the bytes of a file that a record lists, which must match it.
  private func contents(of file: SignedFile) throws -> [UInt8] {
    let store = FolderFetcher(try FileSystem.real.directory(at: storePath))
    let bytes = try #require(try store.fetch(file.path, limit: file.length))
    #expect(try Digest(of: bytes) == file.digest)
    return bytes
  }

  /// Builds a package and returns its path.
  private func package(
    _ product: String = "com.example.book", _ version: String, content: String? = nil,
    text: String = "words", name: String? = nil
  ) throws -> String {
    let directory = try folder.opened()
    let number = try directory.entries().count
    let source = try directory.createDirectory("source-\(number)", exclusive: true)
    try source.createDirectory("Contents").replaceFile("page-1.txt", with: Array(text.utf8))
    let output = name ?? "package-\(number).pkg"
    _ = try buildPackage(
      folder: source, output: directory, outputName: output,
      productIdentifier: ProductIdentifier(validating: product),
      contentIdentifier: content.map { try ProductIdentifier(validating: $0) },
      version: ContentVersion(validating: version))
    return folder.path(output)
  }

  /// Every file in the store with the digest of its bytes.
  private func files() throws -> [String: String] {
    func files(in directory: Directory, _ prefix: String) throws -> [String: String] {
      var found: [String: String] = [:]
      for entry in try directory.entries() {
        if entry.kind == .directory {
          found.merge(
            try files(in: directory.directory(entry.name), "\(prefix)\(entry.name)/")
          ) { $1 }
        } else {
          let bytes = try directory.contents(of: entry.name, limit: 1 << 30)
          found[prefix + entry.name] = try Digest(of: bytes).hex
        }
      }
      return found
    }
    return try files(in: FileSystem.real.directory(at: storePath), "")
  }

  // MARK: Creating

  @Test func `a new store has signed metadata, no products, and its own keys beside it`() throws {
    let store = try created()
    #expect(try store.products().isEmpty)
    #expect(try read().targets.isEmpty)
    // A store without products does not have a file of records.
    #expect(
      try Set(files().keys) == [
        "metadata/1.root.json", "metadata/1.targets.json", "metadata/1.snapshot.json",
        "metadata/timestamp.json",
      ])
    let parent = try FileSystem.real.directory(at: folder.path("shop"))
    #expect(try parent.status(of: "store.keys")?.permissions == 0o700)
    let keys = try parent.directory("store.keys")
    #expect(
      try Set(keys.entries().map(\.name)) == [
        "root", "targets.pem", "snapshot.pem", "timestamp.pem", "lock", "published.json",
      ])
    for entry in try keys.entries() where entry.kind == .file {
      #expect(try keys.status(of: entry.name)?.permissions == 0o600)
    }
    #expect(try keys.status(of: "root")?.permissions == 0o700)
    let root = try keys.directory("root")
    #expect(try root.entries().map(\.name) == ["root.pem"])
    #expect(try root.status(of: "root.pem")?.permissions == 0o600)
  }

  @Test func `a store is not created in a folder with a store or other files`() throws {
    _ = try created()
    #expect(code { _ = try created() } == .fileExists)
    try folder.opened().createDirectory("other").replaceFile("file", with: [1])
    #expect(code { _ = try StoreFolder.create(at: folder.path("other")) } == .fileExists)
  }

  @Test func `a folder that is not a store is not opened`() throws {
    #expect(code { _ = try StoreFolder.open(at: storePath) } == .storeMissing)
    #expect(code { _ = try StoreFolder.open(at: folder.path) } == .storeMissing)
  }

  // MARK: Publishing

  @Test func `a published package is in the catalog with all its values`() throws {
    let store = try created()
    let path = try package("com.example.book", "1.10")
    let details = ProductDetails(
      title: "A Book", description: "It has pages.", releaseNotes: "More pages", price: 2.99,
      currency: "EUR")
    let published = try store.publish([path], details: details, now: now).versions
    let bytes = try FileSystem.real.file(at: path).contents(limit: 1 << 30)
    #expect(published.map(\.version.rawValue) == ["1.10"])
    #expect(published.map(\.digest) == [try Digest(of: bytes)])

    let targets = try read()
    #expect(Set(targets.targets.keys) == ["com.example.book/product.json"])
    let record = try #require(try targets.record(of: book))
    #expect(record.description.texts["en"]?.title == "A Book")
    #expect(record.description.price == Price(2.99, currency: "EUR"))
    #expect(record.offers.count == 1 && record.retired.isEmpty)
    let offer = try #require(record.offers.first)
    #expect(offer.productIdentifier == book && offer.contentIdentifier == book)
    #expect(offer.version.rawValue == "1.10")
    #expect(offer.installedSize == published.first?.installedSize)
    #expect(offer.signers != nil && offer.signers == targets.signers)
    let prefix = "targets/com.example.book/1.10"
    #expect(offer.package.path == "\(prefix)/\(offer.package.digest.hex).content.pkg")
    #expect(offer.index.path == "\(prefix)/\(offer.index.digest.hex).content.index")
    #expect(try contents(of: offer.package) == bytes)
    let index = try PackageIndex(encoded: contents(of: offer.index))
    #expect(index.isConsistent)
    #expect(index.packageLength == Int64(bytes.count))
    #expect(index.files.map(\.path).contains("Contents/page-1.txt"))
    #expect(index.installedSize == published.first?.installedSize)
  }

  @Test func `products are listed with their versions, newest first`() throws {
    let store = try created()
    try store.publish([package("com.example.book", "1.9"), package("b", "1")], now: now)
    try store.publish([package("com.example.book", "1.10")], now: now)
    try store.add(ProductIdentifier("a"), details: ProductDetails(title: "No content"), now: now)
    let products = try store.products()
    #expect(products.map(\.record.productIdentifier.rawValue) == ["a", "b", "com.example.book"])
    #expect(products.map { $0.versions.map(\.version.rawValue) } == [[], ["1"], ["1.10", "1.9"]])
    #expect(products[0].record.texts["en"]?.title == "No content")
    #expect(products[1].record.texts["en"]?.title == "b")
  }

  @Test func `several packages are published in one step of the metadata`() throws {
    let store = try created()
    try store.publish([package("a", "1"), package("b", "1"), package("c", "1")], now: now)
    #expect(try read().version == 2)
  }

  @Test func `a later publication without texts and price keeps them`() throws {
    let store = try created()
    let details = ProductDetails(title: "Ein Buch", language: "de", price: 1.50)
    try store.publish([package("com.example.book", "1")], details: details, now: now)
    try store.publish([package("com.example.book", "2")], now: now)
    let notes = ProductDetails(releaseNotes: "Now with an end")
    try store.publish([package("com.example.book", "3")], details: notes, now: now)
    let record = try bookRecord().description
    #expect(record.texts["de"] == ProductText(title: "Ein Buch"))
    #expect(record.texts["en"]?.releaseNotes == "Now with an end")
    #expect(record.price == Price(1.50, currency: "USD"))
    try store.add(book, details: ProductDetails(price: 0.00), now: now)
    #expect(try bookRecord().description.price == nil)
  }

  @Test func `an equal version with other bytes is refused`() throws {
    let store = try created()
    try store.publish([package("com.example.book", "1.0")], now: now)
    let before = try files()
    let other = try package("com.example.book", "1.0.0", text: "other")
    let error = #expect(throws: ContentError.self) { try store.publish([other], now: now) }
    #expect(error?.code == .versionExists)
    #expect(error?.remedy.contains("Increase ContentVersion") == true)
    #expect(try files() == before)
  }

  @Test func `publishing the same bytes again succeeds and changes nothing`() throws {
    let store = try created()
    let path = try package("com.example.book", "1.0")
    try store.publish([path], now: now)
    let before = try files()
    #expect(try store.publish([path, path], now: now.addingTimeInterval(5)).versions.isEmpty)
    #expect(try files() == before)
    try store.publish([path], details: ProductDetails(title: "New"), now: now)
    #expect(try bookRecord().description.texts["en"]?.title == "New")
  }

  @Test func `two packages with one version and different bytes are refused`() throws {
    let store = try created()
    let paths = [try package("a", "1"), try package("a", "1.0", text: "other")]
    #expect(code { try store.publish(paths, now: now) } == .versionExists)
  }

  @Test func `an invalid package refuses the whole publication, and every invalid one is named`()
    throws
  {
    let store = try created()
    let before = try files()
    let good = try package("a", "1")
    let misnamed = try package("b", "1", name: "wrong.zip")
    try folder.opened().replaceFile("broken.pkg", with: Array("no archive".utf8))
    let paths = [good, folder.path("broken.pkg"), misnamed, folder.path("missing.pkg")]
    let error = #expect(throws: ContentError.self) { try store.publish(paths, now: now) }
    for name in ["broken.pkg", "wrong.zip", "missing.pkg"] {
      #expect(error?.message.contains(name) == true)
    }
    #expect(error?.message.contains(good) == false)
    #expect(error?.code == .formUnknown)
    #expect(try files() == before)
  }

  @Test func `the error for a refused package has all its findings`() throws {
    let store = try created()
    let info = """
      <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
      <key>ContentVersion</key><string>1.0</string>
      <key>IAPProductIdentifier</key><string>a</string></dict></plist>
      """
    let tar = Self.tar([
      ("ContentInfo.plist", info), ("Contents/run", "#!/bin/sh\n"), ("../evil", "x"),
    ])
    try folder.opened().replaceFile("two-faults.pkg", with: tar)
    let path = folder.path("two-faults.pkg")
    let error = #expect(throws: ContentError.self) { try store.publish([path], now: now) }
    #expect(error?.message.contains(path) == true)
    #expect(error?.message.contains("run") == true)
    #expect(error?.message.contains("evil") == true)
    #expect(error?.code.group == .package)
    #expect(try read().version == 1)
  }

  /// A plain tar archive (POSIX ustar) of regular files.
  private static func tar(_ files: [(name: String, text: String)]) -> [UInt8] {
    var archive: [UInt8] = []
    for file in files {
      func octal(_ value: Int, _ width: Int) -> [UInt8] {
        let digits = String(value, radix: 8)
        return Array((String(repeating: "0", count: width - digits.utf8.count) + digits).utf8) + [0]
      }
      var header = [UInt8](repeating: 0, count: 512)
      func put(_ bytes: some Collection<UInt8>, at offset: Int) {
        header.replaceSubrange(offset..<offset + bytes.count, with: bytes)
      }
      put(file.name.utf8, at: 0)
      put(octal(0o644, 7), at: 100)
      put(octal(0, 7) + octal(0, 7), at: 108)
      put(octal(file.text.utf8.count, 11) + octal(0, 11), at: 124)
      put("        0".utf8, at: 148)
      put("ustar\u{0}00".utf8, at: 257)
      put(octal(header.reduce(0) { $0 + Int($1) }, 6), at: 148)
      archive += header + Array(file.text.utf8)
      archive += [UInt8](repeating: 0, count: (512 - file.text.utf8.count % 512) % 512)
    }
    return archive + [UInt8](repeating: 0, count: 1024)
  }

  // MARK: Several contents

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

  @Test(arguments: [
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
    try store.retire(book, ContentVersion("2"), now: now)
    #expect(try store.products()[0].versions.map(\.version.rawValue) == ["1"])
    let record = try bookRecord()
    #expect(record.offers.map(\.version.rawValue) == ["1"])
    #expect(record.retired == [book: ContentVersion("2")])
    #expect(try Set(files().keys).isSuperset(of: before))
    #expect(
      code { try store.publish([package("com.example.book", "2", text: "b")], now: now) }
        == .versionExists)
    // Changing the product's texts does not free the number.
    try store.add(book, details: ProductDetails(title: "Other"), now: now)
    #expect(
      code { try store.publish([package("com.example.book", "1.5")], now: now) } == .versionExists)
    try store.publish([package("com.example.book", "3")], now: now)
    try store.retire(book, ContentVersion("1.0"), now: now)
    #expect(try store.products()[0].versions.map(\.version.rawValue) == ["3"])
    #expect(code { try store.retire(book, ContentVersion("1"), now: now) } == .productUnknown)
  }

  // MARK: Refreshing

  @Test func `an expired catalog is valid again after a refresh`() throws {
    let store = try created()
    try store.publish([package("com.example.book", "1")], now: now)
    let later = now.addingTimeInterval(91 * Self.day)
    #expect(code { _ = try read(at: later) } == .metadataExpired)
    try store.refresh(now: later)
    #expect(try read(at: later).record(of: book)?.offers.count == 1)
    #expect(code { _ = try read(at: later.addingTimeInterval(91 * Self.day)) } == .metadataExpired)
  }

  @Test func `a refresh renews an old root, and clients of the first root can follow`()
    throws
  {
    let store = try created()
    let first = try store.initialRoot()
    let later = now.addingTimeInterval(3700 * Self.day)
    #expect(code { _ = try read(at: later, root: first) } == .metadataExpired)
    try store.refresh(now: later)
    #expect(try read(at: later, root: first).version == 2)
    try store.refresh(now: later)
    #expect(try files().keys.filter { $0.hasSuffix(".root.json") }.count == 2)
  }

  // MARK: Keys and locks

  @Test func `a second publisher is refused during a publication`() throws {
    let store = try created()
    let keys = try FileSystem.real.directory(at: folder.path("shop/store.keys"))
    do {
      let lock = try keys.updatedFile("lock")
      #expect(try lock.tryLock())
      #expect(code { try store.refresh(now: now) } == .storeLocked)
      #expect(code { try store.add(book, now: now) } == .storeLocked)
      #expect(try store.products().isEmpty)
      withExtendedLifetime(lock) {}
    }
    try store.refresh(now: now)
  }

  @Test func `a store without its keys can be read but not written`() throws {
    let store = try created()
    let parent = try FileSystem.real.directory(at: folder.path("shop"))
    try parent.directory("store.keys").removeFile("snapshot.pem")
    let later = now.addingTimeInterval(300 * Self.day)
    #expect(code { try store.refresh(now: later) } == .keyUnusable)
    try parent.removeTree("store.keys")
    #expect(code { try store.refresh(now: later) } == .keyUnusable)
    #expect(try store.products().isEmpty)
  }

  @Test func `another store's key is refused before anything is published`() throws {
    let store = try created()
    let keys = try FileSystem.real.directory(at: folder.path("shop/store.keys"))
    try keys.replaceFile("targets.pem", with: SigningKey.generate().pem, mode: 0o600)
    #expect(code { try store.add(book, now: now) } == .keyUnusable)
    #expect(try read().version == 1)
  }

  // MARK: Faults

  @Test func `after a failure at any step of creating a store, creating it again succeeds`() throws
  {
    var step = 0
    var fired = true
    while fired {
      step += SlowTests.stride(quick: 5)
      let path = folder.path("store-\(step)")
      let fault = FaultAtStep(step)
      let failure = code {
        _ = try StoreFolder.create(at: path, now: now, fileSystem: fault.fileSystem)
      }
      fired = fault.hasFired
      guard failure != nil else { continue }
      if let store = try? StoreFolder.open(at: path) {
        #expect(try store.products().isEmpty)
      } else {
        _ = try StoreFolder.create(at: path, now: now)
      }
      try StoreFolder.open(at: path).add(book, now: now)
    }
    #expect(step > 30)
  }

  @Test
  func
    `after a failure at any step of publishing, the catalog is old or new, and a retry succeeds`()
    throws
  {
    _ = try created().publish([package("com.example.book", "1")], now: now)
    var (step, version, fired) = (0, 1, true)
    var outcomes: Set<Int> = []
    while fired {
      step += SlowTests.stride(quick: 5)
      version += 1
      let next = try package("com.example.book", "\(version)", text: "text \(version)")
      let count = try bookRecord().offers.count
      let fault = FaultAtStep(step)
      let failure = code {
        try StoreFolder.open(at: storePath, fileSystem: fault.fileSystem)
          .publish([next], now: now)
      }
      fired = fault.hasFired
      let seen = try bookRecord().offers.count
      #expect(seen == count || seen == count + 1)
      if failure == nil { #expect(seen == count + 1) } else { outcomes.insert(seen - count) }
      try StoreFolder.open(at: storePath).publish([next], now: now)
      let offers = try bookRecord().offers
      #expect(offers.count == count + 1)
      let newest = try #require(offers.first)
      #expect(newest.version.rawValue == "\(version)")
      #expect(try !contents(of: newest.package).isEmpty)
    }
    #expect(outcomes.contains(0))
    #expect(step > 40)
  }
}
