import HostedModel
import HostedPackage
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedFileServer
import HostedTestSupport
import Testing

/// A store and a library for one test.
final class StoreFixture: Sendable {
  let folder: TemporaryFolder
  let store: StoreFolder

  var storePath: String { folder.path("store") }
  var libraryPath: String { folder.path("library") }

  init() throws {
    folder = try TemporaryFolder()
    store = try StoreFolder.create(at: folder.path("store"))
  }

  /// Creates a store with one version of a product, or of another content of `product`.
  convenience init(
    publishing name: String, _ version: String, of product: String? = nil,
    files: [String: [UInt8]]? = nil
  ) throws {
    try self.init()
    try publish(name, version, of: product, files: files)
  }

  /// Creates a copy of the store and library of `other`, which is faster than publishing again.
  init(copying other: StoreFixture) throws {
    folder = try TemporaryFolder()
    for name in ["store", "store.keys", "library"] { try folder.copy(name, of: other.folder) }
    store = try StoreFolder.open(at: folder.path("store"))
  }

  /// Returns the files of product `name` in `version`: some differ by version, some do not.
  static func files(_ name: String, _ version: String) -> [String: [UInt8]] {
    [
      "Contents/text.txt": Array("The text of \(name) \(version)\n".utf8),
      "Contents/same.txt": Array("The same in every version of \(name)\n".utf8),
      "Contents/deep/er/data.bin": data,
    ]
  }

  private static let data: [UInt8] = (0..<70_000).map {
    UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7)
  }

  /// Builds a package of `files` and returns its path.
  ///
  /// `name` is a content of `product`, and without that a product.
  func makePackage(
    _ name: String, _ version: String, of product: String? = nil, files: [String: [UInt8]]? = nil
  ) throws -> String {
    let files = files ?? Self.files(name, version)
    let source = folder.path("sources/\(name)-\(version)")
    for (path, bytes) in files {
      let url = URL(filePath: "\(source)/\(path)")
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(bytes).write(to: url)
    }
    let output = "\(name)-\(version).pkg"
    _ = try buildPackage(
      folder: FileSystem.real.directory(at: source), output: folder.opened(), outputName: output,
      productIdentifier: ProductIdentifier(validating: product ?? name),
      contentIdentifier: ProductIdentifier(validating: name),
      version: ContentVersion(validating: version))
    return folder.path(output)
  }

  /// Builds and publishes a version of a product, or of another content of `product`.
  func publish(
    _ name: String, _ version: String, of product: String? = nil, files: [String: [UInt8]]? = nil
  ) throws {
    try store.publish([makePackage(name, version, of: product, files: files)])
  }

  /// Starts a server for the store, with a fault script.
  func server(
    _ faults: String = "", _ change: (inout FileServer.Configuration) -> Void = { _ in }
  ) throws -> FileServer {
    var configuration = FileServer.Configuration()
    change(&configuration)
    let server = try FileServer(
      folder: storePath, faults: FaultScript(faults), configuration: configuration)
    try server.start()
    return server
  }

  /// The configuration of a queue on the library, with the store's folder or a server of it.
  func configuration(
    at url: String? = nil, _ change: (inout PaymentQueue.Configuration) throws -> Void = { _ in }
  ) throws -> PaymentQueue.Configuration {
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: libraryPath), store: try StoreLocation(url ?? storePath))
    if url != nil { configuration.trustedRoot = try store.initialRoot() }
    try change(&configuration)
    return configuration
  }

  func queue(
    at url: String? = nil, _ change: (inout PaymentQueue.Configuration) throws -> Void = { _ in }
  ) throws -> PaymentQueue {
    try PaymentQueue(configuration(at: url, change))
  }

  /// Returns the first update for the library, with the bytes that it will fetch.
  func update(at url: String? = nil) async throws -> ContentUpdate {
    let store = StoreReader(
      try StoreLocation(url ?? storePath), trustedRoot: try store.initialRoot())
    let products = try await store.products().products
    return try #require(try reader().updates(of: products, from: store).first)
  }

  /// Installs `product` with a queue of its own, and returns what is installed.
  @discardableResult
  func install(_ product: ProductIdentifier) async throws -> InstalledContent {
    let queue = try queue()
    _ = try await queue.deliver(Payment(productIdentifier: product))
    queue.close()
    let entry = try reader().contents().first { $0.content.contentIdentifier == product }
    return try #require(entry?.content)
  }

  func reader() throws -> LibraryReader { try LibraryReader(URL(filePath: libraryPath)) }

  /// Fails the test unless this version is installed byte for byte.
  func expectInstalled(
    _ name: String, _ version: String, files: [String: [UInt8]]? = nil, isCurrent: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let root = "\(libraryPath)/products/\(name)"
    for (path, bytes) in files ?? Self.files(name, version) {
      let found = try? Data(contentsOf: URL(filePath: "\(root)/\(version)/\(path)"))
      #expect(found == Data(bytes), "\(name) \(version) \(path)", sourceLocation: location)
    }
    let current = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(root)/current")
    #expect((current == version) == isCurrent, sourceLocation: location)
    let entry = try reader().contents().first {
      $0.content.contentIdentifier.rawValue == name && $0.content.version.rawValue == version
    }
    let content = try #require(entry?.content, sourceLocation: location)
    #expect(try reader().verify(content) == [], sourceLocation: location)
  }

  /// Returns the staging names that belong to downloads.
  func staged() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(libraryPath)/staging")
      .filter { $0 != "CACHEDIR.TAG" }
  }
}

extension TemporaryFolder {
  /// Copies `name` of `other` to this fixture if it exists.
  fileprivate func copy(_ name: String, of other: TemporaryFolder) throws {
    guard FileManager.default.fileExists(atPath: other.path(name)) else { return }
    try FileManager.default.copyItem(atPath: other.path(name), toPath: path(name))
  }
}
