import HostedModel
import ContentStore
import HostedTransfer
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Small packages of distant servers", .timeLimit(.hang))
struct WholePackageTests {
  private let fixture: StoreFixture
  private let source: DistantStore

  init() throws {
    fixture = try StoreFixture()
    source = try DistantStore(fixture.storePath)
  }

  private func queue() throws -> PaymentQueue {
    try fixture.queue { [source] in $0.environment.pieceSource = { source } }
  }

  private func deliver(_ name: String, _ queue: PaymentQueue) async throws {
    _ = try await queue.deliver(Payment(productIdentifier: try ProductIdentifier(validating: name)))
  }

  @Test("A package is installed with one request, and its update fetches only what changed")
  func install() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue()
    try await deliver("a", queue)
    #expect(source.takeFiles() == ["content.pkg"])
    try fixture.expectInstalled("a", "1.0")
    try fixture.publish("a", "1.1")
    let update = try #require(try await queue.availableUpdates().first)
    _ = try await queue.deliver(update)
    #expect(source.takeFiles() == ["content.index", "content.pkg"])
    try fixture.expectInstalled("a", "1.1")
    queue.close()
  }

  @Test("The installed files are those of the store's index")
  func sameIndex() async throws {
    try fixture.publish("a", "1.0")
    let near = try fixture.queue()
    try await deliver("a", near)
    near.close()
    let expected = try fixture.reader().contents().map(\.content.entryCount)
    try FileManager.default.removeItem(atPath: fixture.libraryPath)
    let queue = try queue()
    try await deliver("a", queue)
    queue.close()
    #expect(try fixture.reader().contents().map(\.content.entryCount) == expected)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("A package of other software with members is installed in the same way")
  func samples() async throws {
    let samples = SourceTree.path("SamplePackages")
    let names = ["chapter1-1.0.pkg", "course-1.0.pkg"]
    try fixture.store.publish(names.map { "\(samples)/\($0)" })
    let queue = try queue()
    for product in try await queue.products(["com.example.book.chapter1", "com.example.course"])
      .products
    {
      try await deliver(product.productIdentifier.rawValue, queue)
    }
    queue.close()
    #expect(Set(source.takeFiles()) == ["content.pkg"])
    let reader = try fixture.reader()
    for entry in try reader.contents() { #expect(try reader.verify(entry.content) == []) }
    #expect(try reader.contents().count == 2)
  }

  @Test("A damaged package is refused")
  func damaged() async throws {
    try fixture.publish("a", "1.0")
    let folder = "\(fixture.storePath)/targets/a/1.0"
    let name = try FileManager.default.contentsOfDirectory(atPath: folder)
      .first { $0.hasSuffix("content.pkg") }
    let url = URL(filePath: "\(folder)/\(try #require(name))")
    var bytes = try Data(contentsOf: url)
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: url)
    let queue = try queue()
    await #expect(throws: ContentError.self) { try await deliver("a", queue) }
    queue.close()
    #expect(try fixture.reader().contents().isEmpty)
  }

  @Test("A negative length in the offer of a service without a catalog fails the download")
  func negativeLength() async throws {
    let file = SignedFile(path: "x", length: -1, digest: .zero)
    let offer = ContentOffer(
      productIdentifier: "a", contentIdentifier: "a", version: "1.0", installedSize: 0,
      package: file, index: file)
    let queue = try fixture.queue { [source] in
      $0.environment.pieceSource = { source }
      $0.environment.usesCatalog = false
      $0.service = OneOfferService(offer: offer)
    }
    let error = await #expect(throws: ContentError.self) { try await deliver("a", queue) }
    #expect(error?.code == .limitExceeded)
    queue.close()
  }
}

/// A store in a folder that pretends to be distant, and records fetched files.
private final class DistantStore: PieceSource {
  private let folder: FolderPieceSource
  private let files = Mutex<[String]>([])

  init(_ path: String) throws {
    folder = FolderPieceSource(
      store: try FileSystem.real.directory(at: path), rate: FolderRate(TransferLimits()))
  }

  func isBestWhole(_ file: SignedFile) -> Bool { true }

  func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    let name = file.path.split(separator: "/").last?.split(separator: ".", maxSplits: 1).last
    files.withLock { $0.append(String(name ?? "")) }
    try folder.fetch(pieces, of: file, ticket: ticket, deliver: deliver)
  }

  /// Returns the base names of files fetched since the last call, in order.
  func takeFiles() -> [String] {
    files.withLock { files in
      defer { files = [] }
      return files
    }
  }
}
