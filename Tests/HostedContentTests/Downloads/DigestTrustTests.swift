import HostedLibrary
import HostedModel
import HostedDigests
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// A signed index with wrong digests of a file.
@Suite("Trust in the digests of files", .timeLimit(.hang))
struct DigestTrustTests {
  private static let path = "Contents/page.txt"
  private static let old = ["Contents/page.txt": Array("What was published first.".utf8)]
  private static let new = ["Contents/page.txt": Array("What it was changed to...".utf8)]
  private let fixture: StoreFixture
  private let signers: [Digest]

  init() throws {
    fixture = try StoreFixture()
    signers = try ["one", "other"].map { try Digest(of: Array($0.utf8)) }
  }

  /// Returns the product as the store offers it now.
  private func product() async throws -> Product {
    let queue = try fixture.queue { $0.library = URL(filePath: fixture.folder.path("looking")) }
    defer { queue.close() }
    return try #require(try await queue.products(["a"]).products.first)
  }

  /// Publishes the first version with an index that has the second version's digest for the page.
  private func lyingProduct(signers: Digest?) async throws -> Product {
    try fixture.publish("a", "1.0", files: Self.old)
    let product = try await product()
    let offer = try #require(product.contents.first)
    let store = try FileSystem.real.directory(at: fixture.storePath)
    let parts = offer.index.path.pathComponents()
    let honest = try PackageIndex(
      encoded: store.directory(at: parts.dropLast()).contents(of: parts.last ?? "", limit: 1 << 20))
    let digest = try Digest(of: Self.new[Self.path] ?? [])
    let files = honest.files.map { file in
      file.path == Self.path
        ? IndexedFile(path: file.path, kind: .file, size: file.size, digest: digest) : file
    }
    let lying = PackageIndex(
      packageLength: honest.packageLength, payload: try #require(honest.payload), files: files
    ).encoded
    try store.directory("targets").replaceFile("lying", with: lying)
    let index = SignedFile(
      path: "targets/lying", length: Int64(lying.count), digest: try Digest(of: lying))
    return product.offering(offer, index: index, signers: signers)
  }

  private func queue(selling product: Product) throws -> PaymentQueue {
    try fixture.queue {
      $0.service = ScriptedService([product])
      $0.environment.usesCatalog = false
    }
  }

  private func buy(_ product: Product) async throws {
    let queue = try queue(selling: product)
    defer { queue.close() }
    _ = try await queue.deliver(Payment(productIdentifier: product.productIdentifier))
  }

  @Test func `verify finds a wrong digest, and repair refuses a package that contradicts it`()
    async throws
  {
    let product = try await lyingProduct(signers: signers[0])
    try await buy(product)
    let content = try #require(try fixture.reader().contents().first?.content)
    let damage = try fixture.reader().verify(content)
    #expect(damage.map(\.path) == [Self.path])
    let queue = try queue(selling: product)
    let error = await #expect(throws: ContentError.self) { try await queue.repair(content) }
    queue.close()
    #expect(error?.code == .indexMismatch)
    #expect(try fixture.staged().isEmpty)
  }

  @Test func `a version of other keys reuses files only after checking them`() async throws {
    try await buy(lyingProduct(signers: signers[0]))
    try fixture.publish("a", "1.1", files: Self.new)
    let product = try await product()
    let offer = try #require(product.contents.first)
    try await buy(product.offering(offer, index: offer.index, signers: signers[1]))
    try fixture.expectInstalled("a", "1.1", files: Self.new)
  }

  @Test func `digests without signers are compared before anything is installed`() async throws {
    let product = try await lyingProduct(signers: nil)
    let error = await #expect(throws: ContentError.self) { try await buy(product) }
    #expect(error?.code == .indexMismatch)
    #expect(try fixture.reader().contents().isEmpty)
  }

  @Test func `offers of the same signing keys have equal signers`() async throws {
    try fixture.publish("a", "1.0")
    let first = try #require(try await product().contents.first)
    try fixture.publish("a", "1.1")
    let second = try #require(try await product().contents.first)
    #expect(first.version < second.version)
    #expect(first.signers != nil && first.signers == second.signers)
    let other = try StoreFixture(publishing: "a", "1.0")
    let queue = try other.queue()
    let foreign = try await queue.products(["a"]).products.first?.contents.first
    queue.close()
    #expect(foreign?.signers != first.signers)
  }
}

extension Product {
  /// Returns the product with one content, as another party describes it.
  fileprivate func offering(_ offer: ContentOffer, index: SignedFile, signers: Digest?) -> Product {
    Product(
      productIdentifier: productIdentifier, type: type, texts: texts, price: price,
      contents: [
        ContentOffer(
          productIdentifier: offer.productIdentifier, contentIdentifier: offer.contentIdentifier,
          version: offer.version, installedSize: offer.installedSize, package: offer.package,
          index: index, signers: signers)
      ])
  }
}
