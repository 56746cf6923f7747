import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Browsing a store without a queue, with the trust of a library.
@Suite("Browsing a store with a library", .timeLimit(.hang))
struct StoreBrowsingTests {
  private let fixture: StoreFixture

  init() throws { fixture = try StoreFixture(publishing: "a", "1.0") }

  /// The versions of `a` that the store offers.
  private func versions(
    in library: String? = nil, root: [UInt8]? = nil
  ) throws -> [String] {
    let location = library.map { URL(filePath: $0, directoryHint: .isDirectory) }
    let store = StoreReader(
      try StoreLocation(fixture.storePath), trustedRoot: root, library: location)
    let products = try store.products(["a"]).products
    return products.flatMap(\.contents).map(\.version.rawValue)
  }

  /// All files of the library's trust folder with their bytes.
  private func recorded() throws -> [String: Data] {
    let folder = "\(fixture.libraryPath)/trust"
    return try FileManager.default.subpathsOfDirectory(atPath: folder).reduce(into: [:]) {
      // A folder has no bytes.
      $0[$1] = FileManager.default.contents(atPath: "\(folder)/\($1)") ?? Data()
    }
  }

  @Test func `browsing during use of the library does not change its records`() async throws {
    let queue = try fixture.queue()
    defer { queue.close() }
    _ = try await queue.products(["a"])
    let before = try recorded()
    try fixture.publish("a", "1.1")
    #expect(try versions(in: fixture.libraryPath) == ["1.1"])
    #expect(try recorded() == before)
    _ = try await queue.products(["a"])
    #expect(try recorded() != before)
  }

  @Test func `a rolled back store is refused only with the library`() async throws {
    let queue = try fixture.queue()
    defer { queue.close() }
    let old = fixture.folder.path("old")
    try FileManager.default.copyItem(atPath: fixture.storePath, toPath: old)
    try fixture.publish("a", "1.1")
    _ = try await queue.products(["a"])
    try FileManager.default.removeItem(atPath: fixture.storePath)
    try FileManager.default.moveItem(atPath: old, toPath: fixture.storePath)
    let error = #expect(throws: ContentError.self) { try versions(in: fixture.libraryPath) }
    #expect(error?.code == .metadataRolledBack)
    #expect(try versions() == ["1.0"])
  }

  @Test(arguments: [true, false])
  func `a replaced folder of the trusted metadata is an error, not a first use`(isLink: Bool)
    throws
  {
    try fixture.queue().close()
    let (files, trust) = (FileManager.default, "\(fixture.libraryPath)/trust")
    try? files.removeItem(atPath: trust)
    try files.createDirectory(
      atPath: "\(fixture.libraryPath)-trust", withIntermediateDirectories: true)
    if isLink {
      try files.createSymbolicLink(
        atPath: trust, withDestinationPath: "\(fixture.libraryPath)-trust")
    } else {
      try Data().write(to: URL(filePath: trust))
    }
    let error = #expect(throws: ContentError.self) { try versions(in: fixture.libraryPath) }
    #expect(error?.code == .fileMissing)
  }

  @Test func `another store's root is refused, and the message names the library's folder`()
    async throws
  {
    let queue = try fixture.queue()
    defer { queue.close() }
    _ = try await queue.products(["a"])
    let other = try StoreFixture()
    let root = try other.store.initialRoot()
    let error = #expect(throws: ContentError.self) {
      try versions(in: fixture.libraryPath, root: root)
    }
    #expect(error?.code == .rootMismatch)
    #expect("\(error.map { "\($0)" } ?? "")".contains("\(fixture.libraryPath)/trust"))
    #expect(try versions(in: fixture.libraryPath, root: fixture.store.initialRoot()) == ["1.0"])
  }

  @Test func `browsing with a new library records nothing`() throws {
    try fixture.queue().close()
    #expect(try versions(in: fixture.libraryPath) == ["1.0"])
    #expect(try recorded().isEmpty)
    let error = #expect(throws: ContentError.self) { try versions(in: fixture.folder.path("none")) }
    #expect(error?.code == .fileMissing)
  }

  @Test(.enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func `another user can browse with the library`() async throws {
    for path in [fixture.folder.path, fixture.storePath] {
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    let queue = try fixture.queue()
    _ = try await queue.products(["a"])
    queue.close()
    let found = try OtherUser.perform { [self] in try versions(in: fixture.libraryPath) }
    #expect(found == ["1.0"])
  }
}
