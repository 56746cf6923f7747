import HostedModel
import HostedPackage
import ContentStore
import HostedDigests
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Installs of the sample packages.
@Suite("The sample packages, installed", .timeLimit(.hang))
struct SampleInstallTests {
  static let samples = SourceTree.root.appending(path: "SamplePackages")

  @Test("Every supported format installs the same files")
  func forms() async throws {
    let fixture = try StoreFixture()
    let forms = ["xar", "zip", "tar", "tar-gz", "tar-xz", "tar-zst", "tar-bz2"]
    try fixture.store.publish(
      forms.map { Self.samples.appending(path: "formats/\($0).pkg").path() })
    try fixture.store.publish([Self.samples.appending(path: "chapter1-1.0.pkg").path()])
    try await Self.get(
      forms.map { "com.example.forms.\($0)" } + ["com.example.book.chapter1"], fixture)
    let source = Self.samples.appending(path: "sources/chapter1-1.0/Contents")
    let expected = try Self.files(in: source)
    #expect(expected.count > 3)
    for entry in try fixture.reader().contents() {
      let contents = entry.url.appending(path: "Contents")
      #expect(try Self.files(in: contents) == expected, "\(entry.content.contentIdentifier)")
      #expect(try fixture.reader().verify(entry.content) == [])
    }
  }

  @Test("All of many small files are installed")
  func manyFiles() async throws {
    let fixture = try StoreFixture()
    try fixture.store.publish([Self.samples.appending(path: "many-files.pkg").path()])
    try await Self.get(["com.example.many-files"], fixture)
    let entry = try #require(try fixture.reader().contents().first)
    let files = try Self.files(in: entry.url.appending(path: "Contents"))
    #expect(files.count == 400)
    #expect(try fixture.reader().verify(entry.content) == [])
  }

  /// Bad packages signed with stolen keys, so that their digests are right.
  @Test(
    "A bad package with a valid signature fails its download and leaves no files",
    arguments: [
      ("wrong-version", ContentError.Code.wrongVersion), ("wrong-product", .wrongProduct),
      ("damaged", .archiveDamaged), ("truncated", .archiveDamaged),
      ("escaping-path", .entryRefused), ("absolute-path", .entryRefused),
      ("escaping-link", .entryRefused), ("link-chain", .entryRefused),
      ("executable-inside", .executableContent), ("missing-plist", .contentInfoInvalid),
      ("bad-plist", .contentInfoInvalid), ("bad-version", .contentInfoInvalid),
      ("not-an-archive", .formatUnknown),
    ])
  func badPackage(name: String, code: ContentError.Code) async throws {
    let folder = try TemporaryFolder()
    let offer = try Self.forge(Self.samples.appending(path: "bad/\(name).pkg"), in: folder)
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: folder.path("library")), store: try StoreLocation(folder.path("store"))
    )
    configuration.service = OneOfferService(offer: offer)
    let queue = try PaymentQueue(configuration)
    let observer = RecordingObserver.delivering(of: queue)
    queue.add(Payment(productIdentifier: offer.productIdentifier))
    await observer.wait { $0.downloads.values.contains { $0.state == .failed } }
    let download = try #require(observer.log.downloads.values.first)
    let error = try #require(download.error)
    #expect(error.code == code, "\(error)")
    #expect(!error.remedy.isEmpty)
    #expect(queue.transactions.count == 1)
    #expect(
      try Array(Self.files(in: URL(filePath: folder.path("library/products"))).keys) == [
        "CACHEDIR.TAG"
      ])
    #expect(!FileManager.default.fileExists(atPath: "/tmp/hostedcontent-zz-out.txt"))
    queue.finishTransaction(download.transaction)
    await observer.wait { !$0.removed.isEmpty }
    queue.close()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path("library/staging")) == [
        "CACHEDIR.TAG"
      ])
  }

  // MARK: Helpers

  private static func get(_ products: [String], _ fixture: StoreFixture) async throws {
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    for product in products {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: product)))
    }
    await observer.wait { $0.removed.count == products.count }
    queue.close()
  }

  private static func files(in folder: URL) throws -> [String: Data] {
    let prefix = folder.resolvingSymlinksInPath().path() + "/"
    let enumerator = FileManager.default.enumerator(
      at: folder.resolvingSymlinksInPath(), includingPropertiesForKeys: [.isRegularFileKey])
    var files: [String: Data] = [:]
    while let url = enumerator?.nextObject() as? URL {
      guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else {
        continue
      }
      files[String(url.path().dropFirst(prefix.count))] = try Data(contentsOf: url)
    }
    return files
  }

  /// Creates a store with this archive and its index, and the matching offer.
  private static func forge(_ package: URL, in folder: TemporaryFolder) throws -> ContentOffer {
    let bytes = [UInt8](try Data(contentsOf: package))
    let source = try FileByteSource(FileSystem.real.file(at: package.path()))
    let examination = try? examinePackage(source, name: "forged")
    let index = try PackageIndex(indexing: source, entries: examination?.entries ?? [])
    let encoded = index.encoded
    let store = try folder.opened().createDirectory("store")
    try store.createDirectory("metadata")
    let targets = try store.createDirectory("targets")
    try targets.replaceFile("package", with: bytes)
    try targets.replaceFile("index", with: encoded)
    let chapter = ProductIdentifier("com.example.book.chapter1")
    let isWrongProduct = package.lastPathComponent == "wrong-product.pkg"
    let product = isWrongProduct ? chapter : examination?.info?.productIdentifier ?? chapter
    return ContentOffer(
      productIdentifier: product, contentIdentifier: product, version: ContentVersion("1.0"),
      installedSize: index.installedSize,
      package: SignedFile(
        path: "targets/package", length: Int64(bytes.count), digest: try Digest(of: bytes)),
      index: SignedFile(
        path: "targets/index", length: Int64(encoded.count), digest: try Digest(of: encoded)))
  }
}
