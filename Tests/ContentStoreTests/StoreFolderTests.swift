import HostedModel
import HostedPackage
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(.long) struct StoreFolderTests {
  let folder: TemporaryFolder
  let now = Date(timeIntervalSince1970: 1_900_000_000)
  let book: ProductIdentifier
  static let day: TimeInterval = 86_400

  init() throws {
    folder = try TemporaryFolder()
    book = ProductIdentifier("com.example.book")
  }

  var storePath: String { folder.path("shop/store") }

  func created() throws -> StoreFolder { try StoreFolder.create(at: storePath, now: now) }

  /// Returns the store's files as a new client sees them at `time`.
  func read(at time: Date? = nil, root: [UInt8]? = nil) throws -> TrustedTargets {
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
  func bookRecord() throws -> CatalogRecord { try #require(try read().record(of: book)) }

  /// Returns the bytes of a file that a record lists, which must match it.
  func contents(of file: SignedFile) throws -> [UInt8] {
    let store = FolderFetcher(try FileSystem.real.directory(at: storePath))
    let bytes = try #require(try store.fetch(file.path, limit: file.length))
    #expect(try Digest(of: bytes) == file.digest)
    return bytes
  }

  /// Builds a package and returns its path.
  func package(
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
  func files() throws -> [String: String] {
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

  @Test func `a date that metadata cannot have is refused before anything is written`() throws {
    let store = try created()
    let before = try files()
    for time in [Double.nan, .infinity, -1e12, 253_100_000_000, 1e300] {
      let date = Date(timeIntervalSince1970: time)
      #expect(code { _ = try store.add(book, now: date) } == .usage, "\(time)")
      #expect(
        code { _ = try StoreFolder.create(at: folder.path("other"), now: date) } == .usage,
        "\(time)")
    }
    #expect(try files() == before)
    #expect(try folder.opened().status(of: "other") == nil)
    let last = Date(timeIntervalSince1970: 252_900_000_000)
    try store.refresh(everything: true, now: last)
    #expect(try read(at: last).targets.isEmpty)
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
    #expect(record.offers.count == 1 && record.retiredVersions.isEmpty)
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
    for price in [0.00, 0.00001] as [Decimal] {
      try store.add(book, details: ProductDetails(price: 2.99), now: now)
      try store.add(book, details: ProductDetails(price: price), now: now)
      #expect(try bookRecord().description.price == nil)
    }
  }

  @Test func `a title with the same letters in other bytes is a change`() throws {
    let store = try created()
    try store.add(book, details: ProductDetails(title: "Caf\u{e9}"), now: now)
    let details = ProductDetails(title: "Cafe\u{301}")
    #expect(try store.add(book, details: details, now: now)?.fields == [.title(language: "en")])
    #expect(try store.add(book, details: details, now: now) == nil)
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
    #expect(error?.code == .formatUnknown)
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
}
