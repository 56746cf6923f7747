import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Publishers with different key folders.
@Suite(.long) struct TwoPublisherTests {
  private let fixture: PublisherFixture

  init() throws { fixture = try PublisherFixture() }

  private func keys(_ name: String) -> StoreKeyOptions {
    StoreKeyOptions(folder: URL(filePath: fixture.folder.path(name)))
  }

  @Test func `a publisher with a copy of the keys is refused during another publication`() throws {
    let store = try fixture.create()
    try fixture.copy("store.keys", to: "second.keys")
    let second = try fixture.open(keys("second.keys"))
    let codes = Mutex<[ContentError.Code?]>([])
    let watched = FileSystem { operation, path in
      guard operation == .rename, path.hasSuffix(".targets.json") else { return }
      let found = code { try fixture.add("second", to: second) }
      codes.withLock { $0.append(found) }
    }
    try fixture.add("first", to: fixture.open(fileSystem: watched))
    #expect(codes.withLock { $0 } == [.storeLocked])
    try fixture.add("second", to: second)
    #expect(try fixture.products(trusting: store.initialRoot()) == ["first", "second"])
  }

  @Test func `two publishers cannot create one store with different keys at the same time`() throws
  {
    let codes = Mutex<[ContentError.Code?]>([])
    let other = keys("other.keys")
    let watched = FileSystem { operation, path in
      guard operation == .rename, path.hasSuffix("1.root.json") else { return }
      let found = code {
        _ = try StoreFolder.create(at: fixture.storePath, keys: other, now: fixture.now)
      }
      codes.withLock { $0.append(found) }
    }
    let store = try StoreFolder.create(
      at: fixture.storePath, now: fixture.now, fileSystem: watched)
    #expect(codes.withLock { $0 } == [.storeLocked])
    try fixture.add("a", to: store)
  }

  @Test func `a publication that another one with the same version replaced is detected later`()
    throws
  {
    let store = try fixture.create()
    try fixture.copy("store.keys", to: "second.keys")
    let before = try fixture.files()
    try fixture.add("lost", to: store)
    // The second machine publishes to its own copy, and uploads it over the first publication.
    try fixture.putBack(before)
    let second = try fixture.open(keys("second.keys"))
    try fixture.add("a", to: second)
    try fixture.add("b", to: second)
    let error = #expect(throws: ContentError.self) { try fixture.add("c", to: store) }
    #expect(error?.code == .storeRolledBack)
    #expect(error?.subject?.hasSuffix("metadata/2.targets.json") == true)
    try fixture.add("c", to: fixture.open(restored: true))
    #expect(try fixture.products(trusting: store.initialRoot()) == ["a", "b", "c"])
    try fixture.add("lost", to: store)
  }
}
